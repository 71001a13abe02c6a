"""VirtualMachineSnapshotContent: a VolumeSnapshot or a full copy of each of its volumes, and how they fare."""

import asyncio
from dataclasses import replace

from ingot.api.kubevirt import phase
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import INSTANCES, MACHINE_SNAPSHOT_CONTENTS, MACHINE_SNAPSHOTS, SNAPSHOTS
from ingot.api.snapshot.saving import Stage, saved_volumes
from ingot.api.status import ApiError
from ingot.control.outfit import OF_ONE_MACHINE, Outfit
from ingot.control.owning import is_owned
from ingot.control.snapshots import content_status
from ingot.control.snapshots.content_status import State
from ingot.control.snapshots.parts import Parts
from ingot.control.snapshots.saving import PAUSE_SECONDS, Savers, Step
from ingot.control.snapshots.words import is_online, machine_of, seconds_at, source_labels
from ingot.control.writing import delete, live
from ingot.kube.cache import Key, key_of
from ingot.kube.change import patch_status
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.controller import Controller, Result
from ingot.kube.events import Recorder
from ingot.kube.manager import Manager
from ingot.kube.objects import controller_of, copy_of, is_deleting, set_controller_reference

_BY_MACHINE = "content-machine"
# How often VolumeSnapshots of an attempt that failed, which are being deleted, are looked for.
_LEAVING_SECONDS = 1.0


class SnapshotContents:
    """The controller. VolumeSnapshots and full copies belong to the content, and go with it."""

    def __init__(self, manager: Manager, clock: Clock = SYSTEM, outfit: Outfit = OF_ONE_MACHINE) -> None:
        self._client = manager.client
        self._clock = clock
        self._events = Recorder(manager.client, "snapshot-controller")
        self._parts = Parts(manager, clock)
        self._savers = Savers(manager, clock, outfit)
        self._contents = manager.informer(MACHINE_SNAPSHOT_CONTENTS)
        self._contents.cache.add_index(_BY_MACHINE, lambda content: [str(key) for key in machine_of(content)])
        controller = Controller("machine-snapshot-content", self.reconcile, workers=2, clock=clock)
        controller.watch(self._contents).watch(self._savers.instances, self._of_instance)
        controller.own(self._savers.pods, owner=MACHINE_SNAPSHOT_CONTENTS)
        controller.own(self._savers.claims, owner=MACHINE_SNAPSHOT_CONTENTS)
        self._parts.kinds.wake(controller, _owner_of)
        manager.serve(self._events.run)
        manager.add(controller)

    def _of_instance(self, instance: Object) -> list[Key]:
        found = self._contents.cache.by_index(_BY_MACHINE, str(key_of(instance)))
        return [key_of(content) for content in found if not content_status.was_made(content)]

    async def reconcile(self, key: Key) -> Result | None:
        content = self._contents.cache.get(key)
        if content is None or is_deleting(content):
            return None
        state = await self._state(content)
        told = copy_of(content)
        news = content_status.write(told, state, self._clock.time())
        if content_status.was_made(told) and not content_status.was_made(content) and await self._is_overtaken(content):
            await self._withdraw(content)
            return None
        if news:
            self._events.record(content, "VolumeSnapshotError", news, "Warning")
        await patch_status(self._client, MACHINE_SNAPSHOT_CONTENTS, content, told)
        waits = (state.again, content_status.patience(state.snapshots, self._clock.time()))
        again = min((wait for wait in waits if wait is not None), default=None)
        return Result(again) if again is not None else None

    async def _is_overtaken(self, content: Object) -> bool:
        """Whether the machine runs, whose VolumeSnapshots were begun when it did not: its start was under way."""
        name = content["spec"].get("virtualMachineSnapshotName")
        if not name or not _snapshot_names(content):
            return False
        snapshot = await live(self._client, MACHINE_SNAPSHOTS, name, namespace_of(content))
        if snapshot is None or is_online(snapshot):
            return False
        machines = [await live(self._client, INSTANCES, key.name, key.namespace) for key in machine_of(content)]
        return any(each is not None and not phase.is_final(each) for each in machines)

    async def _withdraw(self, content: Object) -> None:
        """The content goes once all that is of it has gone; then the snapshot's controller begins anew."""
        message = "the machine was started while its volumes were taken: all are made anew, as of one that runs"
        self._events.record(content, "MachineStarted", message, "Warning")
        await delete(self._client, MACHINE_SNAPSHOT_CONTENTS, content, propagation="Foreground")

    async def _state(self, content: Object) -> State:
        """Take the next step towards the moment that the content is to hold, and say what there is of it."""
        if content_status.was_made(content):
            return State(await self._found(content), gone=await self._savers.finish(content))
        copied = bool(saved_volumes(content))
        begins = copied and bool(_snapshot_names(content)) and self._savers.is_idle(content)
        if begins and (pause := await self._pause(content)):
            return pause
        step = await self._savers.step(content) if copied else None
        if (step is None or step.is_held) and (given_up := await self._given_up(content)):
            return given_up
        if step is None:
            return State(await self._taken(content))
        step = await self._together(content, step)
        return State(await self._taken(content) if step.is_held else {}, copies=step, again=step.again)

    async def _given_up(self, content: Object) -> State | None:
        """An attempt of which a part failed or went is cleared away, and made anew after a while; None for one that is
        good so far. What is made later than the other parts is not of their moment."""
        found = await self._found(content)
        is_leaving = any(each is not None and is_deleting(each) for each in found.values())
        told = ((content.get("status") or {}).get("error") or {}).get("message", "")
        copied = bool(saved_volumes(content))
        fault = content_status.torn(found, copied=copied, now=self._clock.time(), known=told)
        if is_leaving or fault:
            await self._savers.discard(content)
            await self._remove_snapshots(content)
            message = fault or told or "VolumeSnapshots of an attempt that failed are being deleted"
            return State({}, fault=message, again=_LEAVING_SECONDS)
        return None if copied or any(found.values()) else await self._pause(content)

    async def _pause(self, content: Object) -> State | None:
        """What failed stays to be seen before it is tried again; None once it has, or where nothing failed."""
        # The server is asked, for a cache may not know yet what was written a moment ago.
        told = await live(self._client, MACHINE_SNAPSHOT_CONTENTS, name_of(content), namespace_of(content))
        known = ((told or {}).get("status") or {}).get("error")
        left = seconds_at(known["time"]) + PAUSE_SECONDS - self._clock.time() if known else 0.0
        return State({}, fault=known["message"], again=left) if known and left > 0 else None

    async def _together(self, content: Object, step: Step) -> Step:
        """The step, after which VolumeSnapshots and full copies are begun together if the latter can be.

        VolumeSnapshots of an attempt that failed are of another moment than the copies that are to come: they go first.
        """
        if step.is_held:
            return step
        if await self._remove_snapshots(content):
            return replace(step, again=_LEAVING_SECONDS)
        if step.stage is not Stage.READY:
            return step
        # The closer together all of it is, the closer is what it holds to one moment.
        begun, _ = await asyncio.gather(self._savers.begin(step), self._taken(content))
        return begun

    async def _found(self, content: Object) -> dict[str, Object | None]:
        """The VolumeSnapshots by name; None for those that are not there."""
        names = _snapshot_names(content)
        found = await asyncio.gather(*(self._snapshot(content, name) for name in names))
        return dict(zip(names, found, strict=True))

    async def _taken(self, content: Object) -> dict[str, Object | None]:
        """The VolumeSnapshots by name, those that are not there made all at once; None where another is in the way."""
        names = _snapshot_names(content)
        taken = await asyncio.gather(*(self._make(content, name) for name in names))
        return dict(zip(names, taken, strict=True))

    async def _remove_snapshots(self, content: Object) -> bool:
        """Delete the content's VolumeSnapshots; whether there still are some."""
        keys = (Key(namespace_of(content), name) for name in _snapshot_names(content))
        found = [each for key in keys if (each := self._parts.kinds.snapshots.cache.get(key))]
        ours = [each for each in found if is_owned(each, content)]
        for each in ours:
            if not is_deleting(each):
                await delete(self._client, SNAPSHOTS, each)
        return bool(ours)

    async def _snapshot(self, content: Object, name: str) -> Object | None:
        """The VolumeSnapshot of that name; the server is asked where a cache that may be late has none."""
        cached = self._parts.kinds.snapshots.cache.get(Key(namespace_of(content), name))
        known = cached or await live(self._client, SNAPSHOTS, name, namespace_of(content))
        return known if known is not None and is_owned(known, content) else None

    async def _make(self, content: Object, name: str) -> Object | None:
        if known := await self._snapshot(content, name):
            return known
        wanted = self._wanted(content, name)
        try:
            made = await self._client.create(SNAPSHOTS, wanted)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            return None
        self._events.record(content, "SuccessfulVolumeSnapshotCreate", f"Successfully created VolumeSnapshot {name}")
        return made

    def _wanted(self, content: Object, name: str) -> Object:
        backup = next(each for each in content["spec"]["volumeBackups"] if each.get("volumeSnapshotName") == name)
        claim = backup["persistentVolumeClaim"]
        wanted: Object = {
            "apiVersion": SNAPSHOTS.api_version,
            "kind": SNAPSHOTS.kind,
            "metadata": {"name": name, "namespace": namespace_of(content), "labels": source_labels(content)},
            "spec": {
                "source": {"persistentVolumeClaimName": claim["metadata"]["name"]},
                "volumeSnapshotClassName": self._parts.snapshot_class(claim["spec"].get("storageClassName") or ""),
            },
        }
        set_controller_reference(wanted, content)
        return wanted


def _snapshot_names(content: Object) -> list[str]:
    backups = content["spec"].get("volumeBackups") or ()
    return [str(each["volumeSnapshotName"]) for each in backups if each.get("volumeSnapshotName")]


def _owner_of(snapshot: Object) -> list[Key]:
    owner = controller_of(snapshot) or {}
    is_ours = owner.get("kind") == MACHINE_SNAPSHOT_CONTENTS.kind
    return [Key(namespace_of(snapshot), str(owner["name"]))] if is_ours else []
