"""What a claim asks its volume to be, checked before anything is made."""

import os
from pathlib import Path

from ingot.api.cdi.filling import has_failed, is_being_filled
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.quantity import written
from ingot.kube.cache import Cache, Key
from ingot.standalone.volumes import loop, match
from ingot.standalone.volumes.local import LocalVolumes
from ingot.standalone.volumes.manifest import is_block
from ingot.standalone.volumes.snapshot_store import SnapshotStore, Unready
from ingot.standalone.volumes.words import (
    LOCAL_PROVISIONER,
    PROVISIONED_BY,
    SNAPSHOT_GROUP,
    annotation,
    belongs_to,
    is_bound,
    source_of,
)
from ingot.standalone.volumes.writers import busy, writer_of

_SOON = 5.0
_LATER = 60.0


class Refused(Exception):
    """The volume cannot be made as things are; the message says why and what would help."""

    def __init__(self, claim: Object, why: str, retry_seconds: float = _LATER) -> None:
        where = f"claim {namespace_of(claim)}/{name_of(claim)}"
        super().__init__(f"{where}: {why}; tried again in {retry_seconds:g} s")
        self.retry_seconds = retry_seconds


class Sources:
    """Tells whether a claim can be served, and which volume or snapshot it is a copy of."""

    def __init__(
        self, claims: Cache, volumes: Cache, pods: Cache, local: LocalVolumes, snapshots: SnapshotStore
    ) -> None:
        self._claims = claims
        self._volumes = volumes
        self._pods = pods
        self._local = local
        self._snapshots = snapshots

    def check(self, claim: Object) -> Path | None:
        """The directory of the volume or snapshot to copy, None for an empty one. Raises Refused."""
        self._check_size(claim)
        if is_block(claim):
            _check_devices(claim)
        reference = source_of(claim)
        if reference is None:
            return None
        namespace = reference.get("namespace") or namespace_of(claim)
        key = Key(namespace, reference.get("name", ""))
        kind = (reference.get("apiGroup") or "", reference.get("kind"))
        if namespace == namespace_of(claim) and kind == ("", "PersistentVolumeClaim"):
            return self._claimed(claim, key)
        if namespace == namespace_of(claim) and kind == (SNAPSHOT_GROUP, "VolumeSnapshot"):
            return self._snapshot(claim, key)
        raise Refused(
            claim,
            f"spec.dataSourceRef is a {reference.get('kind')} in namespace {namespace}: local volumes are copied from "
            "a PersistentVolumeClaim or a VolumeSnapshot in the claim's own namespace",
        )

    def _check_size(self, claim: Object) -> None:
        asked, whole = match.request_of(claim), self._local.capacity()
        if asked > whole:
            raise Refused(
                claim,
                f"spec.resources.requests.storage asks for {asked} bytes, but the filesystem of "
                f"{self._local.directory} holds {whole} in all: ask for less, or put the directory on a larger one",
            )

    def _claimed(self, claim: Object, key: Key) -> Path:
        source = self._claims.get(key)
        if source is None or not is_bound(source):
            state = "does not exist" if source is None else "is not bound yet"
            raise Refused(claim, f"spec.dataSourceRef: claim {key} {state}", _SOON)
        if is_being_filled(source):
            raise Refused(claim, f"spec.dataSourceRef: claim {key} is still being filled", _SOON)
        if has_failed(source):
            raise Refused(claim, f"spec.dataSourceRef: claim {key} could not be filled: see its events")
        self._check_original(claim, source)
        return self._local.directory / str(source["spec"]["volumeName"])

    def _check_original(self, claim: Object, source: Object) -> None:
        name = source["spec"]["volumeName"]
        volume = self._volumes.get(Key("", name))
        shown = f"spec.dataSourceRef: claim {namespace_of(source)}/{name_of(source)}"
        if volume is None or annotation(volume, PROVISIONED_BY) != LOCAL_PROVISIONER or not self._local.has(name):
            raise Refused(claim, f"{shown} is not a local volume of this node, and cannot be copied here")
        if not belongs_to(volume, source):
            why = f"{shown} names volume {name}, which is another claim's: make it anew without spec.volumeName"
            raise Refused(claim, why)
        if is_block(source) != is_block(claim):
            mode = source["spec"].get("volumeMode", "Filesystem")
            raise Refused(claim, f"{shown} has volumeMode {mode}: make the claim anew with the same spec.volumeMode")
        if match.request_of(claim) < match.capacity_of(volume):
            size = volume["spec"]["capacity"]["storage"]
            raise Refused(claim, f"{shown} is {size} large: ask for as much or more in spec.resources.requests.storage")
        pod = writer_of(self._pods, namespace_of(source), name_of(source))
        if pod and not self._local.shares_blocks:
            raise Refused(claim, f"{shown} {busy(pod)}", _SOON)

    def _snapshot(self, claim: Object, key: Key) -> Path:
        shown = f"spec.dataSourceRef: VolumeSnapshot {key}"
        try:
            record = self._snapshots.ready(key)
        except Unready as unready:
            raise Refused(claim, f"{shown} {unready}", _SOON) from None
        if record.block != is_block(claim):
            mode = "Block" if record.block else "Filesystem"
            raise Refused(claim, f"{shown} has volumeMode {mode}: make the claim anew with the same spec.volumeMode")
        if match.request_of(claim) < record.size:
            size = written(record.size)
            raise Refused(claim, f"{shown} is {size} large: ask for as much or more in spec.resources.requests.storage")
        return self._snapshots.files.directory / record.name


def _check_devices(claim: Object) -> None:
    cure = "or make the claim anew with spec.volumeMode Filesystem"
    if os.geteuid() != 0:
        why = "volumeMode Block needs a loop device, which only root may attach: run `ingot up` as root,"
        raise Refused(claim, f"{why} {cure}")
    if not loop.CONTROL.exists():
        why = f"volumeMode Block needs a loop device, and there is no {loop.CONTROL}: run `modprobe loop`,"
        raise Refused(claim, f"{why} {cure}")
