"""VirtualMachineRestore: new claims from the snapshot, then the machine's spec on them in one write (F5).

Until that write the machine is as it was, and the new claims are the restore's own; after it they are the machine's.
Only then what they replace is deleted, unless it is restored in place.
"""

from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import (
    DATA_VOLUMES,
    INSTANCES,
    MACHINE_RESTORES,
    MACHINE_SNAPSHOT_CONTENTS,
    MACHINE_SNAPSHOTS,
    MACHINES,
    VOLUME_CLAIMS,
)
from ingot.api.status import ApiError
from ingot.control.owning import is_owned
from ingot.control.snapshots import in_place, restore_status
from ingot.control.snapshots import restored_claims as claims
from ingot.control.snapshots.filling import Filling
from ingot.control.snapshots.restore_status import CREATING, is_complete, is_over
from ingot.control.snapshots.restored import Impossible, data_volume_of, machine_from, templates_of
from ingot.control.snapshots.target import NotYet, Target, check_same, is_restored, refused
from ingot.control.snapshots.words import FAILED, READY, RESTORE_FINALIZER, is_ready, phase_of
from ingot.control.writing import change, delete, live
from ingot.kube.cache import Key, key_of
from ingot.kube.change import patch_status
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.controller import Controller, Result
from ingot.kube.events import Recorder
from ingot.kube.manager import Manager
from ingot.kube.objects import (
    add_finalizer,
    condition,
    copy_of,
    has_finalizer,
    is_deleting,
    remove_finalizer,
)

_BY_TARGET, _BY_SNAPSHOT = "restore-target", "restore-snapshot"


def _target_of(restore: Object) -> list[str]:
    return [f"{namespace_of(restore)}/{restore['spec']['target']['name']}"]


def _snapshot_of(restore: Object) -> list[str]:
    return [f"{namespace_of(restore)}/{restore['spec']['virtualMachineSnapshotName']}"]


class MachineRestores:
    """The controller."""

    def __init__(self, manager: Manager, clock: Clock = SYSTEM) -> None:
        self._client = manager.client
        self._clock = clock
        self._events = Recorder(manager.client, "restore-controller")
        self._target = Target(manager.client)
        self._filling = Filling(manager, clock)
        self._restores = manager.informer(MACHINE_RESTORES)
        self._restores.cache.add_index(_BY_TARGET, _target_of)
        self._restores.cache.add_index(_BY_SNAPSHOT, _snapshot_of)
        self._snapshots = manager.informer(MACHINE_SNAPSHOTS)
        manager.serve(self._events.run)
        manager.add(
            Controller("machine-restore", self.reconcile, workers=2, clock=clock)
            .watch(self._restores)
            .watch(self._snapshots, lambda obj: self._by(_BY_SNAPSHOT, obj))
            .watch(manager.informer(MACHINES), lambda obj: self._by(_BY_TARGET, obj))
            .watch(manager.informer(INSTANCES), lambda obj: self._by(_BY_TARGET, obj))
            .own(manager.informer(VOLUME_CLAIMS), owner=MACHINE_RESTORES)
        )

    def _by(self, index: str, obj: Object) -> list[Key]:
        found = self._restores.cache.by_index(index, f"{namespace_of(obj)}/{name_of(obj)}")
        return [key_of(restore) for restore in found if not is_over(restore)]

    async def reconcile(self, key: Key) -> Result | None:
        restore = self._restores.cache.get(key)
        if restore is None:
            return None
        if is_deleting(restore):
            await self._end(restore)
            return None
        if is_over(restore):
            await self._close(restore)
            return None
        if not has_finalizer(restore, RESTORE_FINALIZER):
            restore = await change(
                self._client, MACHINE_RESTORES, restore, lambda each: add_finalizer(each, RESTORE_FINALIZER)
            )
        try:
            await self._advance(restore)
        except NotYet as fault:
            await self._wait(restore, fault)
            return Result(fault.again) if fault.again else None
        except Impossible as fault:
            await self._fail(restore, str(fault))
        return None

    async def _advance(self, restore: Object) -> None:
        """Go as far as it goes. Raises NotYet, Impossible."""
        machine = await live(self._client, MACHINES, restore["spec"]["target"]["name"], namespace_of(restore))
        if machine is None or not is_restored(machine, restore):
            content = await self._content(restore)
            machine = await self._prepare(restore, machine, content)
            restore = await self._plan(restore, machine, content)
            # Whether it can be done at all is found out before anything is made, or deleted.
            machine_from(restore, content["spec"]["source"]["virtualMachine"], machine)
            await self._filling.fill(restore, content, machine)
            machine = await self._switch(restore, machine, content)
        await self._complete(restore, machine)

    async def _content(self, restore: Object) -> Object:
        """What is restored. Raises NotYet, Impossible."""
        wanted = restore["spec"]["virtualMachineSnapshotName"]
        snapshot = self._snapshots.cache.get(Key(namespace_of(restore), wanted))
        shown = f'VirtualMachineSnapshot "{wanted}"'
        if snapshot is None:
            raise NotYet("SnapshotNotFound", f"{shown} does not exist: the restore begins once it does")
        if phase_of(snapshot) == FAILED:
            raise Impossible(f"{shown} has failed: nothing can be restored from it")
        name = (snapshot.get("status") or {}).get("virtualMachineSnapshotContentName", "")
        content = await live(self._client, MACHINE_SNAPSHOT_CONTENTS, name, namespace_of(restore)) if name else None
        if content is None or not is_ready(content):
            raise NotYet("SnapshotNotReady", f"{shown} is not ready: the restore begins once it is")
        return content

    async def _prepare(self, restore: Object, machine: Object | None, content: Object) -> Object | None:
        """The target, stopped and held; None where there is none yet. Raises NotYet, Impossible."""
        in_place.check_target(restore, machine, content)
        if machine is None:
            return None
        name = content["spec"]["virtualMachineSnapshotName"]
        snapshot = self._snapshots.cache.get(Key(namespace_of(restore), name))
        check_same(machine, snapshot or {})
        await self._target.check_stopped(machine, restore, self._clock.time())
        machine = await self._target.hold(machine, restore)
        # Whoever was just starting it has done so by now, or has seen that it is held.
        await self._target.check_stopped(machine, restore, self._clock.time())
        return machine

    async def _plan(self, restore: Object, machine: Object | None, content: Object) -> Object:
        """The restore with all that it is going to do in its status: what is gone afterwards is known only now."""
        if "restores" in (restore.get("status") or {}):
            return restore
        saved = content["spec"]["source"]["virtualMachine"]
        told = copy_of(restore)
        status = told.setdefault("status", {})
        status["restores"] = claims.planned(restore, content)
        if machine is not None:
            volumes = {each["name"]: each for each in saved["spec"]["template"]["spec"].get("volumes") or ()}
            for plan in status["restores"]:
                if data_volume_of(volumes[plan["volumeName"]], saved):
                    plan["dataVolumeName"] = plan["persistentVolumeClaim"]
            after = templates_of(machine_from(told, saved, machine))
            status["deletedDataVolumes"] = [name for name in templates_of(machine) if name not in after]
        if machine is not None and restore["spec"].get("patches"):
            message = "spec.patches change a machine that is made anew: this one is there, and gets none of them"
            self._events.record(restore, "PatchesIgnored", message, "Warning")
        restore_status.begun(told, self._clock.time())
        return await patch_status(self._client, MACHINE_RESTORES, restore, told)

    async def _switch(self, restore: Object, machine: Object | None, content: Object) -> Object:
        """The machine as it was saved, in one write: nobody ever sees half of it."""
        wanted = machine_from(restore, content["spec"]["source"]["virtualMachine"], machine)
        try:
            if machine is None:
                return await self._client.create(MACHINES, wanted)
            await self._target.check_stopped(machine, restore, self._clock.time())
            return await self._client.replace(MACHINES, wanted)
        except ApiError as error:
            raise refused("FailedUpdate", "the machine", error) from error

    async def _complete(self, restore: Object, machine: Object) -> None:
        status = restore.get("status") or {}
        for plan in status.get("restores") or ():
            await claims.hand_over(self._client, restore, plan, machine)
        for name in status.get("deletedDataVolumes") or ():
            former = await live(self._client, DATA_VOLUMES, name, namespace_of(restore))
            if former is not None and is_owned(former, machine) and not is_deleting(former):
                await delete(self._client, DATA_VOLUMES, former)
        await self._target.free(restore)
        told = copy_of(restore)
        restore_status.complete(told, self._clock.time())
        await patch_status(self._client, MACHINE_RESTORES, restore, told)
        message = f"Successfully completed VirtualMachineRestore {name_of(restore)}"
        self._events.record(restore, "VirtualMachineRestoreComplete", message)

    async def _wait(self, restore: Object, fault: NotYet) -> None:
        latest = await self._client.get(MACHINE_RESTORES, name_of(restore), namespace_of(restore))
        told = copy_of(latest)
        restore_status.waiting(told, fault.reason, fault.message, self._clock.time())
        if (condition(latest, READY) or {}).get("message") != fault.message and fault.reason != CREATING:
            self._events.record(restore, f"Restore{fault.reason}", fault.message, "Warning")
        await patch_status(self._client, MACHINE_RESTORES, latest, told)

    async def _fail(self, restore: Object, message: str) -> None:
        """It is over, and what was made for it goes. The machine is as it was, but for claims that were deleted to be
        restored in place: the message names them."""
        latest = await self._client.get(MACHINE_RESTORES, name_of(restore), namespace_of(restore))
        if lost := await in_place.loss(self._client, latest):
            message = f"{message}; {lost}"
        told = copy_of(latest)
        restore_status.failed(told, message, self._clock.time())
        await patch_status(self._client, MACHINE_RESTORES, latest, told)
        self._events.record(restore, "VirtualMachineRestoreError", f"{message}; final", "Warning")
        await self._close(told)

    async def _close(self, restore: Object) -> None:
        """It is over. What it made in vain goes before the machine may start: in place, that would stand on it."""
        if not is_complete(restore):
            await claims.discard(self._client, restore)
        await self._target.free(restore)

    async def _end(self, restore: Object) -> None:
        """One that has switched the machine is finished first: what it made is in use."""
        if not has_finalizer(restore, RESTORE_FINALIZER):
            return
        machine = await live(self._client, MACHINES, restore["spec"]["target"]["name"], namespace_of(restore))
        if machine is not None and is_restored(machine, restore) and not is_over(restore):
            for plan in (restore.get("status") or {}).get("restores") or ():
                await claims.hand_over(self._client, restore, plan, machine)
        elif not is_over(restore):
            if lost := await in_place.loss(self._client, restore):
                message = f'VirtualMachineRestore "{name_of(restore)}" was deleted before it was complete; {lost}'
                self._events.record(machine or restore, "RestoreGivenUp", message, "Warning")
            await claims.discard(self._client, restore)
        await self._target.free(restore)
        await change(self._client, MACHINE_RESTORES, restore, lambda each: remove_finalizer(each, RESTORE_FINALIZER))
