"""VM: the oldest kind. It has an instance of its name and spec, and shows that instance's status as its own."""

from ingot.api.kubevirt import phase
from ingot.api.kubevirt.names import INSTANCE_FINALIZER, MACHINE_FINALIZER
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import CLASSIC_VMS, INSTANCES
from ingot.control.fault import InstanceFault
from ingot.control.owning import adopt, let_go, make
from ingot.control.progress import READY, SYNCHRONIZED
from ingot.control.writing import change
from ingot.kube.cache import Key
from ingot.kube.change import patch_status
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.controller import Controller, Result
from ingot.kube.events import Recorder
from ingot.kube.manager import Manager
from ingot.kube.objects import (
    add_finalizer,
    copy_of,
    has_finalizer,
    is_deleting,
    set_condition,
    set_controller_reference,
)


class ClassicVMs:
    """The controller. A VM runs once: when its instance has ended, no other is made."""

    def __init__(self, manager: Manager, clock: Clock = SYSTEM) -> None:
        self._client = manager.client
        self._clock = clock
        self._events = Recorder(manager.client, "classicvm-controller")
        self._vms = manager.informer(CLASSIC_VMS)
        self._instances = manager.informer(INSTANCES)
        manager.serve(self._events.run)
        controller = Controller("classic", self.reconcile, workers=2, clock=clock)
        manager.add(controller.watch(self._vms).watch(self._instances))

    async def reconcile(self, key: Key) -> Result | None:
        vm = self._vms.cache.get(key)
        if vm is None:
            return None
        if is_deleting(vm):
            if has_finalizer(vm, MACHINE_FINALIZER):
                await let_go(self._client, CLASSIC_VMS, vm)
            return None
        if not has_finalizer(vm, MACHINE_FINALIZER):
            vm = await change(self._client, CLASSIC_VMS, vm, lambda each: add_finalizer(each, MACHINE_FINALIZER))
        told = copy_of(vm)
        try:
            instance = await self._instance(vm, self._instances.cache.get(key))
        except InstanceFault as fault:
            set_condition(told, READY, False, "VMINotExists", "VMI does not exist", self._clock.time())
            if set_condition(told, SYNCHRONIZED, False, fault.reason, fault.message, self._clock.time()):
                self._events.record(vm, fault.reason, fault.message, "Warning")
            await patch_status(self._client, CLASSIC_VMS, vm, told)
            return Result(fault.retry) if fault.retry else None
        if instance is not None and "status" in instance:
            told["status"] = copy_of(instance["status"])
        await patch_status(self._client, CLASSIC_VMS, vm, told)
        return None

    async def _instance(self, vm: Object, instance: Object | None) -> Object | None:
        """The VM's instance, made where it has had none. Raises InstanceFault where that cannot be."""
        if instance is not None:
            return await adopt(self._client, vm, instance)
        if phase.is_final(vm):
            return None
        made, is_new = await make(self._client, vm, _instance_of(vm))
        if is_new:
            message = f"Started the virtual machine by creating the new virtual machine instance {name_of(vm)}"
            self._events.record(vm, "SuccessfulCreate", message)
        return made


def _instance_of(vm: Object) -> Object:
    instance: Object = {
        "apiVersion": INSTANCES.api_version,
        "kind": INSTANCES.kind,
        "metadata": {
            "name": name_of(vm),
            "namespace": namespace_of(vm),
            "labels": dict(vm["metadata"].get("labels") or {}),
            "finalizers": [INSTANCE_FINALIZER],
        },
        "spec": copy_of(vm["spec"]),
    }
    set_controller_reference(instance, vm)
    return instance
