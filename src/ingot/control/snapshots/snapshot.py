"""VirtualMachineSnapshot: the machine is held, its content is made, and it is let go when that is there (F5)."""

import re

from ingot.api.kubevirt import phase
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import INSTANCES, MACHINE_SNAPSHOT_CONTENTS, MACHINE_SNAPSHOTS, MACHINES
from ingot.api.status import ApiError
from ingot.control.snapshots import snapshot_status, source
from ingot.control.snapshots.parts import Part, Parts
from ingot.control.snapshots.words import (
    FAILED,
    SNAPSHOT_FINALIZER,
    SUCCEEDED,
    content_name,
    is_copying,
    is_ready,
    phase_of,
    seconds_at,
    source_of,
    volume_snapshot_name,
)
from ingot.control.writing import change, delete, live
from ingot.kube.cache import Key, key_of
from ingot.kube.change import patch_status
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.controller import Controller, Result
from ingot.kube.events import Recorder
from ingot.kube.manager import Manager
from ingot.kube.objects import add_finalizer, condition, copy_of, has_finalizer, is_deleting, remove_finalizer

_DEADLINE = "5m"
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_part = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ns|us|µs|ms|s|m|h)")
_BY_SOURCE = "snapshot-source"


def deadline_of(snapshot: Object, content: Object | None = None) -> float | None:
    """When a snapshot that is not complete has failed; None for never. Full copies that are being made, which may take
    hours, are cut short by a deadline only that somebody gave."""
    given = snapshot["spec"].get("failureDeadline")
    if not given and content is not None and is_copying(content):
        return None
    parts = _part.findall(given or _DEADLINE)
    seconds = sum(float(amount) * _SECONDS[unit] for amount, unit in parts)
    return seconds_at(snapshot["metadata"]["creationTimestamp"]) + seconds if seconds else None


class MachineSnapshots:
    """The controller. A snapshot that succeeded or failed is not made again, whatever becomes of it."""

    def __init__(self, manager: Manager, clock: Clock = SYSTEM) -> None:
        self._client = manager.client
        self._clock = clock
        self._events = Recorder(manager.client, "snapshot-controller")
        self._parts = Parts(manager, clock)
        self._snapshots = manager.informer(MACHINE_SNAPSHOTS)
        self._snapshots.cache.add_index(_BY_SOURCE, lambda snapshot: [str(key) for key in source_of(snapshot)])
        self._contents = manager.informer(MACHINE_SNAPSHOT_CONTENTS)
        self._machines = manager.informer(MACHINES)
        manager.serve(self._events.run)
        manager.add(
            Controller("machine-snapshot", self.reconcile, workers=2, clock=clock)
            .watch(self._snapshots)
            .watch(self._contents, _of_content)
            .watch(self._machines, self._of_machine)
            .watch(self._parts.claims, lambda _: ())
            .after(self._parts.kinds.settled)
        )

    def _of_machine(self, machine: Object) -> list[Key]:
        found = self._snapshots.cache.by_index(_BY_SOURCE, str(key_of(machine)))
        return [key_of(snapshot) for snapshot in found if phase_of(snapshot) not in (SUCCEEDED, FAILED)]

    async def reconcile(self, key: Key) -> Result | None:
        snapshot = self._snapshots.cache.get(key)
        if snapshot is None:
            return None
        if is_deleting(snapshot):
            await self._end(snapshot)
            return None
        if phase_of(snapshot) == FAILED:
            await source.let_go(self._client, snapshot)
            return None
        return await self._live(snapshot)

    async def _live(self, snapshot: Object) -> Result | None:
        if not has_finalizer(snapshot, SNAPSHOT_FINALIZER):
            snapshot = await change(
                self._client, MACHINE_SNAPSHOTS, snapshot, lambda each: add_finalizer(each, SNAPSHOT_FINALIZER)
            )
        told = copy_of(snapshot)
        content = await self._content(snapshot)
        left = self._left(snapshot, content)
        if phase_of(snapshot) != SUCCEEDED and left is not None and left <= 0:
            return await self._fail(snapshot, told, content)
        if content is None and phase_of(snapshot) == SUCCEEDED:
            message = f'VirtualMachineSnapshotContent "{content_name(snapshot)}" was deleted: nothing can be restored'
            snapshot_status.waiting(told, "ContentMissing", message, self._clock.time())
        elif content is None:
            snapshot, told, content = await self._begin(snapshot)
        if content is not None:
            snapshot_status.follow(told, content, self._clock.time())
        await self._tell(snapshot, told)
        if phase_of(told) == SUCCEEDED:
            await source.let_go(self._client, snapshot)
            return None
        return Result(left) if left is not None else None

    def _left(self, snapshot: Object, content: Object | None) -> float | None:
        deadline = deadline_of(snapshot, content)
        return None if deadline is None else deadline - self._clock.time()

    async def _content(self, snapshot: Object) -> Object | None:
        """The content; the server is asked where a cache that may be late has none, though there was one."""
        name = content_name(snapshot)
        cached = self._contents.cache.get(Key(namespace_of(snapshot), name))
        if cached is None and (snapshot.get("status") or {}).get("virtualMachineSnapshotContentName"):
            return await live(self._client, MACHINE_SNAPSHOT_CONTENTS, name, namespace_of(snapshot))
        return cached

    async def _begin(self, snapshot: Object) -> tuple[Object, Object, Object | None]:
        """Hold the machine, say what is going to be in the snapshot, and make its content."""
        told = copy_of(snapshot)
        wanted = snapshot["spec"]["source"]["name"]
        machine = self._machines.cache.get(Key(namespace_of(snapshot), wanted))
        try:
            if machine is None:
                message = f'VirtualMachine "{wanted}" does not exist: the snapshot is made once it does'
                raise source.Hindered("SourceNotFound", message)
            machine = await source.hold(self._client, machine, snapshot)
        except source.Hindered as fault:
            snapshot_status.waiting(told, fault.reason, fault.message, self._clock.time())
            return snapshot, told, None
        # Who was just starting it may do so even after this: the content's controller looks again when all is taken.
        instance = await live(self._client, INSTANCES, name_of(machine), namespace_of(machine))
        parts = self._parts.of(machine, None if instance is None or phase.is_final(instance) else instance)
        snapshot_status.observe(told, machine, instance, parts)
        snapshot = await patch_status(self._client, MACHINE_SNAPSHOTS, snapshot, told)
        content = await self._make(snapshot, machine, parts)
        self._say(snapshot, machine, parts)
        return snapshot, copy_of(snapshot), content

    async def _make(self, snapshot: Object, machine: Object, parts: list[Part]) -> Object | None:
        content: Object = {
            "apiVersion": MACHINE_SNAPSHOT_CONTENTS.api_version,
            "kind": MACHINE_SNAPSHOT_CONTENTS.kind,
            "metadata": {"name": content_name(snapshot), "namespace": namespace_of(snapshot)},
            "spec": {
                "virtualMachineSnapshotName": name_of(snapshot),
                "source": {"virtualMachine": source.saved(machine)},
                "volumeBackups": [self._backup(snapshot, part) for part in parts if part.is_held],
            },
        }
        try:
            made = await self._client.create(MACHINE_SNAPSHOT_CONTENTS, content)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            return await live(self._client, MACHINE_SNAPSHOT_CONTENTS, name_of(content), namespace_of(snapshot))
        message = f"Successfully created VirtualMachineSnapshotContent {name_of(made)}"
        self._events.record(snapshot, "SuccessfulVirtualMachineSnapshotContentCreate", message)
        return made

    def _backup(self, snapshot: Object, part: Part) -> Object:
        name = volume_snapshot_name(snapshot, part.volume)
        claim = self._parts.saved(part.claim) if part.claim else {}
        held = {"savedClaimName": name} if part.copied else {"volumeSnapshotName": name}
        return {"volumeName": part.volume, "persistentVolumeClaim": claim, **held}

    def _say(self, snapshot: Object, machine: Object, parts: list[Part]) -> None:
        """An event for what a person may not expect of the snapshot."""
        for part in parts:
            if part.copied:
                message = f'volume "{part.volume}" is saved as a full copy: {part.why}'
                self._events.record(snapshot, "VolumeCopied", message)
            elif not part.is_held:
                message = f'volume "{part.volume}" is not in the snapshot: {part.why}'
                self._events.record(snapshot, "VolumeExcluded", message, "Warning" if part.lasting else "Normal")
        if (condition(machine, "RestartRequired") or {}).get("status") == "True":
            message = "the machine's template was changed after its start: the snapshot holds it as it is now"
            self._events.record(snapshot, "TemplateChanged", message, "Warning")

    async def _fail(self, snapshot: Object, told: Object, content: Object | None) -> Result | None:
        last = (condition(snapshot, "Progressing") or {}).get("message", "")
        message = f"snapshot deadline exceeded{': ' + last if last else ''}; final, delete it and make another"
        snapshot_status.failed(told, message, self._clock.time())
        if content is not None:
            await delete(self._client, MACHINE_SNAPSHOT_CONTENTS, content)
        await self._tell(snapshot, told)
        self._events.record(snapshot, "SnapshotFailed", message, "Warning")
        await source.let_go(self._client, snapshot)
        return None

    async def _end(self, snapshot: Object) -> None:
        """The content goes too, unless it is complete and to be kept; its VolumeSnapshots are its own."""
        if not has_finalizer(snapshot, SNAPSHOT_FINALIZER):
            return
        content = await live(self._client, MACHINE_SNAPSHOT_CONTENTS, content_name(snapshot), namespace_of(snapshot))
        keeps = snapshot["spec"].get("deletionPolicy") == "Retain" and is_ready(content)
        if content is not None and not keeps:
            await delete(self._client, MACHINE_SNAPSHOT_CONTENTS, content)
        await source.let_go(self._client, snapshot)
        await change(self._client, MACHINE_SNAPSHOTS, snapshot, lambda each: remove_finalizer(each, SNAPSHOT_FINALIZER))

    async def _tell(self, snapshot: Object, told: Object) -> Object:
        before, after = condition(snapshot, "Progressing") or {}, condition(told, "Progressing") or {}
        written = await patch_status(self._client, MACHINE_SNAPSHOTS, snapshot, told)
        if after.get("status") == "False" and before.get("message") != after["message"]:
            reason = f"Snapshot{after['reason']}"
            self._events.record(
                snapshot, reason, after["message"], "Normal" if phase_of(told) == SUCCEEDED else "Warning"
            )
        return written


def _of_content(content: Object) -> list[Key]:
    return [Key(namespace_of(content), content["spec"].get("virtualMachineSnapshotName", ""))]
