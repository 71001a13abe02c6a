"""VolumeSnapshots and what they are bound to, as external-snapshotter's controller keeps them."""

from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.quantity import written
from ingot.api.resources import SNAPSHOT_CLASSES, SNAPSHOT_CONTENTS, SNAPSHOTS, VOLUME_CLAIMS, VOLUMES
from ingot.api.status import ApiError
from ingot.kube.cache import Key, key_of
from ingot.kube.change import patch_status
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.controller import Controller, Result
from ingot.kube.events import Recorder
from ingot.kube.manager import Manager
from ingot.kube.objects import is_deleting
from ingot.standalone.volumes.finalizers import hold
from ingot.standalone.volumes.snapshot_ending import Ending
from ingot.standalone.volumes.snapshot_faults import SnapshotFault, failed
from ingot.standalone.volumes.snapshot_plan import Planner
from ingot.standalone.volumes.snapshot_words import (
    AS_SOURCE,
    BOUND,
    CLAIM_AS_SOURCE,
    belongs_to,
    content_of,
    moment,
)
from ingot.standalone.volumes.words import source_of

_RETRY_SECONDS = 5.0


class Snapshots:
    """Gives every VolumeSnapshot its content, shows what has become of that, and takes it along at the end."""

    def __init__(self, manager: Manager, clock: Clock = SYSTEM) -> None:
        self.client = manager.client
        self._clock = clock
        self._events = Recorder(manager.client, "snapshot-controller", clock=clock)
        self._snapshots = manager.informer(SNAPSHOTS)
        self._contents = manager.informer(SNAPSHOT_CONTENTS)
        self._claims = manager.informer(VOLUME_CLAIMS)
        classes, volumes = manager.informer(SNAPSHOT_CLASSES), manager.informer(VOLUMES)
        self._planner = Planner(self._claims.cache, volumes.cache, classes.cache)
        self._ending = Ending(self.client, self._snapshots.cache, self._claims.cache)
        controller = Controller("snapshots", self.reconcile)
        controller.watch(self._snapshots)
        controller.watch(self._contents, _of_content)
        controller.watch(self._claims, self._of_claim)
        controller.watch(classes, self._of_class)
        controller.watch(volumes, lambda _: ())
        manager.serve(self._events.run)
        manager.add(controller)

    def _of_claim(self, claim: Object) -> list[Key]:
        """The snapshot that the claim is filled from, and those that wait for the claim."""
        source = source_of(claim) or {}
        keys = [Key(namespace_of(claim), source.get("name", ""))] if source.get("kind") == SNAPSHOTS.kind else []
        unbound = self._unbound(namespace_of(claim))
        return keys + [key_of(each) for each in unbound if _claim_name(each) == name_of(claim)]

    def _of_class(self, _: Object) -> list[Key]:
        return [key_of(each) for each in self._unbound()]

    def _unbound(self, namespace: str = "") -> list[Object]:
        return [each for each in self._snapshots.cache.list(namespace) if not _bound(each)]

    async def reconcile(self, key: Key) -> Result | None:
        snapshot = self._snapshots.cache.get(key)
        if snapshot is None:
            return None
        if is_deleting(snapshot):
            await self._ending.step(snapshot)
            return None
        try:
            content = await self._content(snapshot)
        except SnapshotFault as fault:
            self._events.record(snapshot, fault.reason, str(fault), "Warning")
            await self._write(snapshot, failed(snapshot.get("status") or {}, str(fault), self._clock.time()))
            return Result(requeue_after=_RETRY_SECONDS)
        await self._show(snapshot, content)
        if (content.get("status") or {}).get("readyToUse"):
            await self._ending.release_claim(snapshot)
        return None

    async def _content(self, snapshot: Object) -> Object:
        """The content that belongs to the snapshot, made if it is to be. Raises SnapshotFault."""
        name = content_of(snapshot)
        content = self._contents.cache.get(Key("", name))
        if content is not None and belongs_to(content, snapshot):
            await self._hold(snapshot)
            return content
        if snapshot["spec"]["source"].get("volumeSnapshotContentName"):
            return await self._bind(snapshot, name, content)
        if content is None and _bound(snapshot):
            raise SnapshotFault("SnapshotContentMissing", f"VolumeSnapshotContent {name} is missing: it was deleted")
        plan = self._planner.plan(snapshot)
        if not snapshot["spec"].get("volumeSnapshotClassName"):
            change = {"metadata": _version(snapshot), "spec": {"volumeSnapshotClassName": name_of(plan.snapshot_class)}}
            snapshot = await self.client.patch(SNAPSHOTS, name_of(snapshot), change, namespace_of(snapshot))
        snapshot = await self._hold(snapshot)
        await hold(self.client, VOLUME_CLAIMS, plan.claim, CLAIM_AS_SOURCE)
        try:
            content = await self.client.create(SNAPSHOT_CONTENTS, plan.content(snapshot))
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            return await self.client.get(SNAPSHOT_CONTENTS, name)
        message = f"Waiting for a snapshot {key_of(snapshot)} to be created by the CSI driver."
        self._events.record(snapshot, "CreatingSnapshot", message)
        return content

    async def _bind(self, snapshot: Object, name: str, content: Object | None) -> Object:
        """Bind a snapshot to a content that was there before it, if that one means it."""
        if content is None:
            raise SnapshotFault("SnapshotContentMissing", f"VolumeSnapshotContent {name} does not exist: make it")
        reference = content["spec"]["volumeSnapshotRef"]
        meant = (reference.get("namespace"), reference.get("name")) == (namespace_of(snapshot), name_of(snapshot))
        if not meant or reference.get("uid"):
            whose = f"{reference.get('namespace')}/{reference.get('name')}"
            why = f"VolumeSnapshotContent {name} is for another VolumeSnapshot, {whose}: see its spec.volumeSnapshotRef"
            raise SnapshotFault("SnapshotContentMisbound", why)
        await self._hold(snapshot)
        change = {"metadata": _version(content), "spec": {"volumeSnapshotRef": {**reference, "uid": uid_of(snapshot)}}}
        return await self.client.patch(SNAPSHOT_CONTENTS, name, change)

    async def _hold(self, snapshot: Object) -> Object:
        return await hold(self.client, SNAPSHOTS, snapshot, AS_SOURCE, BOUND)

    async def _show(self, snapshot: Object, content: Object) -> None:
        """Write into the snapshot what its content says."""
        known = content.get("status") or {}
        status: Object = {
            "boundVolumeSnapshotContentName": name_of(content),
            "readyToUse": bool(known.get("readyToUse")),
        }
        if known.get("creationTime"):
            status["creationTime"] = moment(known["creationTime"])
        if known.get("restoreSize") is not None:
            status["restoreSize"] = written(known["restoreSize"])
        if known.get("error"):
            status["error"] = known["error"]
        before = snapshot.get("status") or {}
        await self._write(snapshot, status)
        if status["readyToUse"] and not before.get("readyToUse"):
            self._events.record(snapshot, "SnapshotReady", f"Snapshot {key_of(snapshot)} is ready to use.")

    async def _write(self, snapshot: Object, status: Object) -> None:
        if status != (snapshot.get("status") or {}):
            await patch_status(self.client, SNAPSHOTS, snapshot, {**snapshot, "status": status})


def _of_content(content: Object) -> list[Key]:
    reference = content["spec"]["volumeSnapshotRef"]
    return [Key(reference.get("namespace", ""), reference.get("name", ""))]


def _bound(snapshot: Object) -> str:
    return str((snapshot.get("status") or {}).get("boundVolumeSnapshotContentName", ""))


def _claim_name(snapshot: Object) -> str:
    return str(snapshot["spec"]["source"].get("persistentVolumeClaimName", ""))


def _version(obj: Object) -> Object:
    return {"resourceVersion": obj["metadata"]["resourceVersion"]}
