"""Makes, grows and deletes the volumes of claims that ask for local storage on this node."""

import asyncio
from pathlib import Path

from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.pod_claims import claims_of
from ingot.api.resources import (
    NODES,
    PODS,
    SNAPSHOT_CONTENTS,
    SNAPSHOTS,
    STORAGE_CLASSES,
    VOLUME_CLAIMS,
    VOLUMES,
)
from ingot.api.status import ApiError
from ingot.host.clone import Cancelled
from ingot.kube.cache import Key
from ingot.kube.controller import Controller, Result
from ingot.kube.events import Recorder
from ingot.kube.manager import Manager
from ingot.kube.objects import is_deleting
from ingot.standalone.volumes.cluster import Cluster
from ingot.standalone.volumes.copying import Copying
from ingot.standalone.volumes.local import LocalVolumes
from ingot.standalone.volumes.manifest import is_block, local_volume, volume_name
from ingot.standalone.volumes.pauses import Pauses
from ingot.standalone.volumes.records import Record
from ingot.standalone.volumes.removal import Removal
from ingot.standalone.volumes.resize import Resize
from ingot.standalone.volumes.sharing import Sharing
from ingot.standalone.volumes.snapshot_class import LocalSnapshotClass
from ingot.standalone.volumes.snapshot_store import SnapshotStore, waiting_for
from ingot.standalone.volumes.snapshots import Snapshots
from ingot.standalone.volumes.snapshotter import Snapshotter
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
    is_left_to_populators,
    phase_of,
    source_of,
)

_BY_VOLUME = "local-volume"
# What was refused may become possible without any object changing: space, permissions, a kernel module.
_RETRY_SECONDS = 60.0
_NODE_SECONDS = 1.0
# Some of them wait for a copy.
_WORKERS = 16


class Provisioner:
    """One key for each volume, whether it is there, to be made or to go: all that concerns it comes in order.

    A volume's name follows from the uid of the claim that it is made for, so that a second try finds what the first
    one made. It may be given to another claim afterwards, and is that one's from then on.
    """

    def __init__(self, manager: Manager, directory: Path, node_name: str) -> None:
        self.client = manager.client
        self._node_name = node_name
        self._cluster = Cluster(self.client)
        self._pauses = Pauses()
        self._local = LocalVolumes(directory)
        self._local.prepare()
        self._events = Recorder(manager.client, LOCAL_PROVISIONER, host=node_name)
        self._claims = manager.informer(VOLUME_CLAIMS)
        self._claims.cache.add_index(_BY_VOLUME, _names_of_volume)
        self._volumes = manager.informer(VOLUMES)
        self._classes = manager.informer(STORAGE_CLASSES)
        self._nodes = manager.informer(NODES)
        pods = manager.informer(PODS)
        snapshots = manager.informer(SNAPSHOTS)
        store = SnapshotStore(snapshots.cache, manager.informer(SNAPSHOT_CONTENTS).cache, self._local.snapshots())
        sources = Sources(self._claims.cache, self._volumes.cache, pods.cache, self._local, store)
        self._copying = Copying(self.client, self._claims.cache, sources, self._local)
        self._removal = Removal(self.client, self._local, self._events)
        self._resize = Resize(self.client, self._local, self._events)
        LocalClass(manager)
        LocalSnapshotClass(manager)
        Snapshots(manager)
        Snapshotter(manager, self._local, self._cluster)
        Sharing(manager, node_name, self._local)
        controller = Controller("local-provisioner", self.reconcile, workers=_WORKERS)
        controller.watch(self._claims, lambda claim: [Key("", name) for name in _names_of_volume(claim)])
        controller.watch(self._volumes, lambda volume: [Key("", name_of(volume))])
        controller.watch(self._classes, self._of_class)
        controller.watch(self._nodes, lambda _: ())
        controller.watch(pods, self._of_pod)
        controller.watch(snapshots, self._of_snapshot)
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
        return [Key("", name) for claim in claims if claim for name in _names_of_volume(claim)]

    def _of_snapshot(self, snapshot: Object) -> list[Key]:
        """The volumes of claims that wait for the snapshot."""
        waiting = waiting_for(snapshot, self._claims.cache)
        return [Key("", volume_name(claim)) for claim in waiting]

    async def reconcile(self, key: Key) -> Result | None:
        volume = self._volumes.cache.get(key)
        claims = self._claims.cache.by_index(_BY_VOLUME, key.name)
        if volume is None:
            return await self._without_object(key.name, claims)
        if not self._is_ours(volume):
            return None
        if await self._removal.is_done(volume, await self._cluster.uid()):
            return None
        return await self._keep(volume, _holder(volume, claims))

    async def _without_object(self, name: str, claims: list[Object]) -> Result | None:
        """Make the volume if it is wanted. What is there of one that nobody has is swept."""
        for claim in claims:
            if volume_name(claim) == name and self._is_wanted(claim):
                return await self._provision(claim)
        if not any(claim["spec"].get("volumeName") == name for claim in claims):
            await self._removal.sweep(name, await self._cluster.uid())
        return None

    async def _keep(self, volume: Object, claim: Object | None) -> Result | None:
        """See that a volume is what its objects say: its record, its device there, its size what the claim asks for."""
        try:
            if claim is not None:
                await self._hand_over(name_of(volume), claim)
            if is_block(volume):
                await asyncio.to_thread(self._local.attach, name_of(volume))
            if claim is not None and not is_deleting(claim):
                await self._resize.follow(claim, volume)
        except OSError as error:
            message = f"{_shown(error)}; tried again in {_RETRY_SECONDS:g} s"
            self._events.record(claim or volume, "FailedAttachVolume", message, "Warning")
            return Result(requeue_after=_RETRY_SECONDS)
        return None

    async def _hand_over(self, name: str, claim: Object) -> None:
        """Write down whose the volume is by now: whoever has it decides about its files."""
        owner = {"namespace": namespace_of(claim), "claim": name_of(claim), "claim_uid": uid_of(claim)}
        await asyncio.to_thread(self._local.hand_over, name, cluster=await self._cluster.uid(), **owner)

    def _is_ours(self, volume: Object) -> bool:
        """Whether the volume was made here, in this directory."""
        path = str(self._local.path(name_of(volume), is_block(volume)))
        by_us = annotation(volume, PROVISIONED_BY) == LOCAL_PROVISIONER
        return by_us and (volume["spec"].get("local") or {}).get("path") == path

    def _is_wanted(self, claim: Object) -> bool:
        """Whether the claim waits for a volume of ours on this node."""
        if is_deleting(claim) or claim["spec"].get("volumeName") or is_left_to_populators(claim):
            return False
        storage_class = self._classes.cache.get(Key("", class_of(claim)))
        if storage_class is None or storage_class.get("provisioner") != LOCAL_PROVISIONER:
            return False
        # The binder looks for a volume first; for a claim with a source it would find none.
        if annotation(claim, STORAGE_PROVISIONER) != LOCAL_PROVISIONER and source_of(claim) is None:
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
        if pause := self._pauses.rest(volume_name(claim)):
            return pause
        record = Record(
            name=volume_name(claim),
            cluster=await self._cluster.uid(),
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
            return self._pauses.begin(record.name, _RETRY_SECONDS)
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


def _names_of_volume(claim: Object) -> list[str]:
    """The volume that would be made for the claim, and the one that it has."""
    has = claim["spec"].get("volumeName")
    return [volume_name(claim), *([has] if has else [])]


def _holder(volume: Object, claims: list[Object]) -> Object | None:
    """The claim among these that volume and claim agree upon."""
    uid = (volume["spec"].get("claimRef") or {}).get("uid")
    has = [claim for claim in claims if claim["spec"].get("volumeName") == name_of(volume) and uid_of(claim) == uid]
    return has[0] if has else None


def _shown(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
