"""What a claim asks its volume to be, checked before anything is made."""

import os

from ingot.api.object import Object, name_of, namespace_of
from ingot.kube.cache import Cache, Key
from ingot.standalone.scheduler.ledger import ENDED, claims_of
from ingot.standalone.volumes import loop, match
from ingot.standalone.volumes.local import LocalVolumes
from ingot.standalone.volumes.manifest import is_block
from ingot.standalone.volumes.words import LOCAL_PROVISIONER, PROVISIONED_BY, annotation, is_bound, phase_of

_SOON = 5.0
_LATER = 60.0


class Refused(Exception):
    """The volume cannot be made as things are; the message says why and what would help."""

    def __init__(self, claim: Object, why: str, retry_seconds: float = _LATER) -> None:
        where = f"claim {namespace_of(claim)}/{name_of(claim)}"
        super().__init__(f"{where}: {why}; tried again in {retry_seconds:g} s")
        self.retry_seconds = retry_seconds


class Sources:
    """Tells whether a claim can be served, and which volume it is a copy of."""

    def __init__(self, claims: Cache, volumes: Cache, pods: Cache, local: LocalVolumes) -> None:
        self._claims = claims
        self._volumes = volumes
        self._pods = pods
        self._local = local

    def check(self, claim: Object) -> str:
        """The name of the volume to copy, "" for an empty one. Raises Refused."""
        self._check_size(claim)
        if is_block(claim):
            _check_devices(claim)
        reference = claim["spec"].get("dataSourceRef") or claim["spec"].get("dataSource")
        return self._original(claim, reference) if reference else ""

    def _check_size(self, claim: Object) -> None:
        asked, whole = match.request_of(claim), self._local.capacity()
        if asked > whole:
            raise Refused(
                claim,
                f"spec.resources.requests.storage asks for {asked} bytes, but the filesystem of "
                f"{self._local.directory} holds {whole} in all: ask for less, or put the directory on a larger one",
            )

    def _original(self, claim: Object, reference: Object) -> str:
        kind, name = reference.get("kind"), reference.get("name", "")
        namespace = reference.get("namespace") or namespace_of(claim)
        if reference.get("apiGroup") or kind != "PersistentVolumeClaim" or namespace != namespace_of(claim):
            raise Refused(
                claim,
                f"spec.dataSourceRef is a {kind} in namespace {namespace}: local volumes are copied from a "
                "PersistentVolumeClaim in the claim's own namespace",
            )
        source = self._claims.get(Key(namespace, name))
        if source is None or not is_bound(source):
            state = "does not exist" if source is None else "is not bound yet"
            raise Refused(claim, f"spec.dataSourceRef: claim {namespace}/{name} {state}", _SOON)
        self._check_original(claim, source)
        return str(source["spec"]["volumeName"])

    def _check_original(self, claim: Object, source: Object) -> None:
        name = source["spec"]["volumeName"]
        volume = self._volumes.get(Key("", name))
        shown = f"spec.dataSourceRef: claim {namespace_of(source)}/{name_of(source)}"
        if volume is None or annotation(volume, PROVISIONED_BY) != LOCAL_PROVISIONER or not self._local.has(name):
            raise Refused(claim, f"{shown} is not a local volume of this node, and cannot be copied here")
        if is_block(source) != is_block(claim):
            mode = source["spec"].get("volumeMode", "Filesystem")
            raise Refused(claim, f"{shown} has volumeMode {mode}: make the claim anew with the same spec.volumeMode")
        if match.request_of(claim) < match.capacity_of(volume):
            size = volume["spec"]["capacity"]["storage"]
            raise Refused(claim, f"{shown} is {size} large: ask for as much or more in spec.resources.requests.storage")
        user = self._user_of(source)
        if user and not self._local.can_share():
            raise Refused(
                claim,
                f"{shown} is in use by pod {user}, and on this filesystem a copy takes time, in which the original "
                "must not change: stop the pod, or put the volumes on XFS or btrfs",
                _SOON,
            )

    def _user_of(self, claim: Object) -> str:
        for pod in self._pods.list(namespace_of(claim)):
            if pod["spec"].get("nodeName") and phase_of(pod) not in ENDED and name_of(claim) in claims_of(pod):
                return name_of(pod)
        return ""


def _check_devices(claim: Object) -> None:
    cure = "or make the claim anew with spec.volumeMode Filesystem"
    if os.geteuid() != 0:
        why = "volumeMode Block needs a loop device, which only root may attach: run `ingot up` as root,"
        raise Refused(claim, f"{why} {cure}")
    if not loop.CONTROL.exists():
        why = f"volumeMode Block needs a loop device, and there is no {loop.CONTROL}: run `modprobe loop`,"
        raise Refused(claim, f"{why} {cure}")
