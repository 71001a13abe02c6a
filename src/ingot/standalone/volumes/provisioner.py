"""Makes, grows and deletes the volumes of claims that ask for local storage on this node."""

import asyncio
from pathlib import Path

from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import NAMESPACES, NODES, PODS, STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES
from ingot.api.status import ApiError
from ingot.kube.cache import Key
from ingot.kube.controller import Controller, Result
from ingot.kube.events import Recorder
from ingot.kube.manager import Manager
from ingot.kube.objects import is_deleting
from ingot.standalone.scheduler.ledger import claims_of
from ingot.standalone.volumes.clone import Cancelled
from ingot.standalone.volumes.copying import Copying
from ingot.standalone.volumes.local import LocalVolumes, Record
from ingot.standalone.volumes.manifest import is_block, local_volume, volume_name
from ingot.standalone.volumes.removal import Removal
from ingot.standalone.volumes.resize import Resize
from ingot.standalone.volumes.source import Refused, Sources
from ingot.standalone.volumes.storage_class import LocalClass
from ingot.standalone.volumes.words import (
    HOSTNAME,
    LOCAL_PROVISIONER,
    PROVISIONED_BY,
    SELECTED_NODE,
    STORAGE_PROVISIONER,
    annotation,
    class_of,
    is_delayed,
    phase_of,
)

_BY_VOLUME = "local-volume"
# What was refused may become possible without any object changing: space, permissions, a kernel module.
_RETRY_SECONDS = 60.0
_NODE_SECONDS = 1.0
_WORKERS = 4


class Provisioner:
    """One key for each volume, whether it is there, to be made or to go: all that concerns it comes in order.

    A volume's name follows from its claim's uid, so that a second try finds what the first one made.
    """

    def __init__(self, manager: Manager, directory: Path, node_name: str) -> None:
        self.client = manager.client
        self._node_name = node_name
        self._cluster = ""
        self._local = LocalVolumes(directory)
        self._local.prepare()
        self._events = Recorder(manager.client, LOCAL_PROVISIONER, host=node_name)
        self._claims = manager.informer(VOLUME_CLAIMS)
        self._claims.cache.add_index(_BY_VOLUME, _names_of_volume)
        self._volumes = manager.informer(VOLUMES)
        self._classes = manager.informer(STORAGE_CLASSES)
        self._nodes = manager.informer(NODES)
        pods = manager.informer(PODS)
        sources = Sources(self._claims.cache, self._volumes.cache, pods.cache, self._local)
        self._copying = Copying(self.client, self._claims.cache, sources, self._local)
        self._removal = Removal(self.client, self._local, self._events)
        self._resize = Resize(self.client, self._local, self._events)
        LocalClass(manager)
        controller = Controller("local-provisioner", self.reconcile, workers=_WORKERS)
        controller.watch(self._claims, lambda claim: [Key("", volume_name(claim))])
        controller.watch(self._volumes, lambda volume: [Key("", name_of(volume))])
        controller.watch(self._classes, self._of_class)
        controller.watch(self._nodes, lambda _: ())
        controller.watch(pods, self._of_pod)
        for name in self._local.names():
            controller.queue.add(Key("", name))
        manager.serve(self._events.run)
        manager.add(controller)

    def _of_class(self, storage_class: Object) -> list[Key]:
        if storage_class.get("provisioner") != LOCAL_PROVISIONER:
            return []
        claims = self._claims.cache.list()
        return [Key("", volume_name(claim)) for claim in claims if not claim["spec"].get("volumeName")]

    def _of_pod(self, pod: Object) -> list[Key]:
        """The volumes of a pod that is about to start here: its devices must be there."""
        if pod["spec"].get("nodeName") != self._node_name or phase_of(pod) != "Pending":
            return []
        keys = (Key(namespace_of(pod), name) for name in claims_of(pod))
        claims = (self._claims.cache.get(key) for key in keys)
        return [Key("", volume_name(claim)) for claim in claims if claim]

    async def reconcile(self, key: Key) -> Result | None:
        volume = self._volumes.cache.get(key)
        claim = next(iter(self._claims.cache.by_index(_BY_VOLUME, key.name)), None)
        if volume is None:
            if claim is not None and self._is_wanted(claim):
                return await self._provision(claim)
            await self._removal.sweep(key.name, await self._cluster_uid())
            return None
        if not self._is_ours(volume):
            return None
        if await self._removal.is_done(volume):
            return None
        return await self._keep(volume, claim)

    async def _keep(self, volume: Object, claim: Object | None) -> Result | None:
        """See that a volume is what its objects say: its device there, its size what the claim asks for."""
        try:
            if is_block(volume):
                await asyncio.to_thread(self._local.attach, name_of(volume))
            if claim is not None and not is_deleting(claim):
                await self._resize.follow(claim, volume)
        except OSError as error:
            message = f"{_shown(error)}; tried again in {_RETRY_SECONDS:g} s"
            self._events.record(claim or volume, "FailedAttachVolume", message, "Warning")
            return Result(requeue_after=_RETRY_SECONDS)
        return None

    def _is_ours(self, volume: Object) -> bool:
        """Whether the volume was made here, in this directory."""
        path = str(self._local.path(name_of(volume), is_block(volume)))
        by_us = annotation(volume, PROVISIONED_BY) == LOCAL_PROVISIONER
        return by_us and (volume["spec"].get("local") or {}).get("path") == path

    def _is_wanted(self, claim: Object) -> bool:
        """Whether the claim waits for a volume of ours on this node."""
        if is_deleting(claim) or claim["spec"].get("volumeName"):
            return False
        storage_class = self._classes.cache.get(Key("", class_of(claim)))
        if storage_class is None or storage_class.get("provisioner") != LOCAL_PROVISIONER:
            return False
        if annotation(claim, STORAGE_PROVISIONER) != LOCAL_PROVISIONER:
            return False
        chosen = annotation(claim, SELECTED_NODE)
        # A claim that waits for no pod may be made anywhere; where nobody chose, here.
        return chosen == self._node_name if chosen or is_delayed(storage_class) else True

    def _hostname(self) -> str:
        node = self._nodes.cache.get(Key("", self._node_name)) or {"metadata": {}}
        return str((node["metadata"].get("labels") or {}).get(HOSTNAME, ""))

    async def _provision(self, claim: Object) -> Result | None:
        hostname = self._hostname()
        if not hostname:
            # The node has yet to say who it is; to be woken by each of its heartbeats would be worse than to look.
            return Result(requeue_after=_NODE_SECONDS)
        record = Record(
            name=volume_name(claim),
            cluster=await self._cluster_uid(),
            namespace=namespace_of(claim),
            claim=name_of(claim),
            claim_uid=uid_of(claim),
            block=is_block(claim),
        )
        try:
            await self._copying.make(claim, record)
        except Cancelled:
            return None
        except Refused as refused:
            self._events.record(claim, "ProvisioningFailed", str(refused), "Warning")
            return Result(requeue_after=refused.retry_seconds)
        except OSError as error:
            message = f"the volume could not be made: {_shown(error)}; tried again in {_RETRY_SECONDS:g} s"
            self._events.record(claim, "ProvisioningFailed", message, "Warning")
            return Result(requeue_after=_RETRY_SECONDS)
        await self._create(claim, record, hostname)
        return None

    async def _create(self, claim: Object, record: Record, hostname: str) -> None:
        storage_class = self._classes.cache.get(Key("", class_of(claim))) or {}
        path = self._local.path(record.name, record.block)
        try:
            await self.client.create(VOLUMES, local_volume(claim, storage_class, path, hostname))
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
        self._events.record(claim, "ProvisioningSucceeded", f"Successfully provisioned volume {record.name}")

    async def _cluster_uid(self) -> str:
        """What tells this API server's objects from those of another that used the directory before."""
        if not self._cluster:
            self._cluster = uid_of(await self.client.get(NAMESPACES, "kube-system"))
        return self._cluster


def _names_of_volume(claim: Object) -> list[str]:
    return [volume_name(claim)]


def _shown(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
