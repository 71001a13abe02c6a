"""VirtualMachine: has an instance of its name while it is to run, and tells how that fares."""

from collections.abc import Callable, Iterable

from ingot.api.kubevirt.names import MACHINE_FINALIZER
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import INSTANCES, MACHINES
from ingot.control import backoff, datavolumes, machine_status
from ingot.control.fault import InstanceFault
from ingot.control.machine_status import Observation
from ingot.control.owning import adopt, is_owned, let_go, make
from ingot.control.snapshots.standstill import Standstill
from ingot.control.snapshots.words import machine_of, restore_of, source_of
from ingot.control.storage import Storage
from ingot.control.strategy import Action, decide, outstanding
from ingot.control.template import check_matchers, instance_of
from ingot.control.writing import change, delete, live
from ingot.disks.claims import claim_name
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
)


def _volumes_of(machine: Object) -> list[Object]:
    return list(machine["spec"]["template"]["spec"].get("volumes") or ())


def _claims_of(machine: Object) -> Iterable[str]:
    return [f"{namespace_of(machine)}/{name}" for each in _volumes_of(machine) if (name := claim_name(each))]


class Machines:
    """The controller. Stopping a machine is deleting its instance; the instance's own controller does the rest."""

    def __init__(self, manager: Manager, clock: Clock = SYSTEM) -> None:
        self._client = manager.client
        self._clock = clock
        self._events = Recorder(manager.client, "virtualmachine-controller")
        self._storage = Storage(manager)
        self._standstill = Standstill(manager)
        self._machines = manager.informer(MACHINES)
        self._instances = manager.informer(INSTANCES)
        self._machines.cache.add_index("claim", _claims_of)
        manager.serve(self._events.run)
        manager.add(
            Controller("machine", self.reconcile, workers=8, clock=clock)
            .watch(self._machines)
            # By name, not by owner: an instance that has none is adopted.
            .watch(self._instances)
            .watch(self._storage.data_volumes, self._on_claim)
            .watch(self._storage.claims, self._on_claim)
            .watch(self._standstill.snapshots, source_of)
            .watch(self._standstill.contents, machine_of)
            .own(self._storage.data_volumes, owner=MACHINES)
        )

    def _on_claim(self, claim: Object) -> list[Key]:
        users = self._machines.cache.by_index("claim", f"{namespace_of(claim)}/{name_of(claim)}")
        return [key_of(machine) for machine in users]

    async def reconcile(self, key: Key) -> Result | None:
        machine = self._machines.cache.get(key)
        if machine is None:
            return None
        if is_deleting(machine):
            await self._end(machine)
            return None
        if not has_finalizer(machine, MACHINE_FINALIZER):
            machine = await change(self._client, MACHINES, machine, lambda each: add_finalizer(each, MACHINE_FINALIZER))
        return await self._follow(machine, await self._instance(machine))

    async def _instance(self, machine: Object) -> Object | None:
        """The instance of the machine's name; the server is asked where a cache that may be late has lost it."""
        cached = self._instances.cache.get(key_of(machine))
        if cached is None and (machine.get("status") or {}).get("created"):
            return await live(self._client, INSTANCES, name_of(machine), namespace_of(machine))
        return cached

    async def _follow(self, machine: Object, instance: Object | None) -> Result | None:
        """Take the next step that the run strategy asks for, and tell how things are."""
        action, fault, wait = Action.NOTHING, None, 0.0
        try:
            instance = await adopt(self._client, machine, instance) if instance else None
            ready = await self._equipped(machine)
            action = decide(machine, instance)
            if action is Action.START:
                self._standstill.check(machine)
            wait = backoff.left(machine, self._clock.time()) if action is Action.START else 0.0
            if action is Action.START and ready and not wait:
                instance = await self._start(machine)
            elif action is Action.STOP and instance is not None:
                if await delete(self._client, INSTANCES, instance):
                    self._stopped(machine, instance)
            elif action is Action.SWITCH_ON:
                machine = await change(self._client, MACHINES, machine, _switch_on)
        except InstanceFault as found:
            fault, wait = found, found.retry or 0.0
            instance = instance if instance and is_owned(instance, machine) else None
        await self._tell(machine, self._observed(machine, instance, action, fault))
        return Result(wait) if wait else None

    async def _equipped(self, machine: Object) -> bool:
        """Whether the machine's own DataVolumes are filled; while they are being replaced, none is made."""
        if restore_of(machine):
            return False
        return await datavolumes.ensure(self._client, self._storage, machine, self._created(machine))

    async def _start(self, machine: Object) -> Object | None:
        check_matchers(machine)
        asked = [each.get("data") for each in outstanding(machine, None)[:1]]
        wanted = instance_of(machine, asked[0] if asked else None)
        instance, is_new = await make(self._client, machine, wanted)
        if is_new:
            message = f"Started the virtual machine by creating the new virtual machine instance {name_of(machine)}"
            self._events.record(machine, "SuccessfulCreate", message)
        return instance

    def _stopped(self, machine: Object, instance: Object) -> None:
        message = f"Stopped the virtual machine by deleting the virtual machine instance {uid_of(instance)}"
        self._events.record(machine, "SuccessfulDelete", message)

    async def _end(self, machine: Object) -> None:
        if not has_finalizer(machine, MACHINE_FINALIZER):
            return
        instance, is_told = await let_go(self._client, MACHINES, machine)
        if instance is None:
            return
        if is_told:
            self._stopped(machine, instance)
        await self._tell(machine, self._observed(machine, instance, Action.NOTHING, None))

    def _created(self, machine: Object) -> Callable[[str], None]:
        return lambda name: self._events.record(machine, "SuccessfulDataVolumeCreate", f"Created DataVolume {name}")

    def _observed(
        self, machine: Object, instance: Object | None, action: Action, fault: InstanceFault | None
    ) -> Observation:
        namespace = namespace_of(machine)
        keys = [Key(namespace, name) for each in _volumes_of(machine) if (name := claim_name(each))]
        return Observation(
            instance=instance,
            action=action,
            data_volumes=[found for key in keys if (found := self._storage.data_volumes.cache.get(key))],
            claims=[found for key in keys if (found := self._storage.claims.cache.get(key))],
            fault=fault,
        )

    async def _tell(self, machine: Object, seen: Observation) -> None:
        told = copy_of(machine)
        machine_status.write(told, seen, self._clock.time())
        await patch_status(self._client, MACHINES, machine, told)
        known = condition(machine, machine_status.FAILURE) or {}
        if seen.fault and known.get("message") != seen.fault.message:
            self._events.record(machine, seen.fault.reason, seen.fault.message, "Warning")


def _switch_on(machine: Object) -> None:
    spec = machine["spec"]
    if "running" in spec:
        spec["running"] = True
    else:
        spec["runStrategy"] = "Always"
