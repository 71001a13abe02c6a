"""VirtualMachineInstanceReplicaSet: as many equal instances as are asked for (R6)."""

import asyncio

from ingot.api import selector
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import INSTANCES, REPLICA_SETS
from ingot.api.status import ApiError
from ingot.control import replicas
from ingot.control.fault import InstanceFault
from ingot.control.owning import disown, is_owned, refused
from ingot.control.template import from_template
from ingot.control.writing import change, delete, drop_condition
from ingot.kube.cache import OWNER, Key, key_of
from ingot.kube.change import patch_status
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.controller import Controller, Result
from ingot.kube.events import Recorder
from ingot.kube.manager import Manager
from ingot.kube.objects import (
    condition,
    controller_of,
    copy_of,
    is_deleting,
    set_condition,
    set_controller_reference,
)

# What is made or deleted in one go; the rest follows in the next.
BURST = 250
FAILURE = "ReplicaFailure"
PAUSED = "ReplicaPaused"


def _free(instance: Object) -> list[str]:
    """Instances that anyone may adopt, by namespace."""
    return [] if controller_of(instance) or is_deleting(instance) else [namespace_of(instance)]


class ReplicaSets:
    """The controller. An instance with fitting labels and no controller is adopted, one that fits no more is let go."""

    def __init__(self, manager: Manager, clock: Clock = SYSTEM) -> None:
        self._client = manager.client
        self._clock = clock
        self._events = Recorder(manager.client, "virtualmachinereplicaset-controller")
        self._sets = manager.informer(REPLICA_SETS)
        self._instances = manager.informer(INSTANCES)
        self._instances.cache.add_index("free", _free)
        manager.serve(self._events.run)
        manager.add(
            Controller("replicaset", self.reconcile, workers=2, clock=clock)
            .watch(self._sets)
            .own(self._instances, owner=REPLICA_SETS)
            .watch(self._instances, self._on_orphan)
        )

    def _on_orphan(self, instance: Object) -> list[Key]:
        if controller_of(instance):
            return []
        sets = self._sets.cache.list(namespace_of(instance))
        return [key_of(each) for each in sets if _fits(each, instance)]

    async def reconcile(self, key: Key) -> Result | None:
        wanted = self._sets.cache.get(key)
        if wanted is None or is_deleting(wanted):
            # Its instances go with it: the garbage collector sees to that.
            return None
        # Made all the same, none of them would ever count: there would be no end to it.
        fault = misfit(wanted)
        owned = self._owned(wanted)
        if not fault and not wanted["spec"].get("paused") and self._is_off(wanted, owned):
            # The cache may lack what was made a moment ago: nothing is made or deleted on its word alone.
            owned = await self._adopt(wanted, await self._listed(wanted))
            try:
                owned = await self._scale(wanted, owned)
            except InstanceFault as found:
                fault = found
        await self._tell(wanted, owned, fault)
        return Result(fault.retry) if fault and fault.retry else None

    def _owned(self, wanted: Object) -> list[Object]:
        return [each for each in self._instances.cache.by_index(OWNER, uid_of(wanted)) if is_owned(each, wanted)]

    def _is_off(self, wanted: Object, owned: list[Object]) -> bool:
        """Whether there is anything to do: a number that is not right, instances to adopt, let go or clear away."""
        number = len(replicas.active(owned)) != wanted["spec"].get("replicas", 1)
        strangers = any(not _fits(wanted, each) for each in owned)
        free = self._instances.cache.by_index("free", namespace_of(wanted))
        return number or strangers or bool(replicas.ended(owned)) or any(_fits(wanted, each) for each in free)

    async def _listed(self, wanted: Object) -> list[Object]:
        listed = await self._client.list(INSTANCES, namespace_of(wanted))
        return list(listed["items"])

    async def _adopt(self, wanted: Object, instances: list[Object]) -> list[Object]:
        """Those that are ours from now on."""
        kept = []
        for each in instances:
            fits, ours = _fits(wanted, each), is_owned(each, wanted)
            if fits and _free(each):
                kept.append(
                    await change(self._client, INSTANCES, each, lambda one: set_controller_reference(one, wanted))
                )
            elif ours and not fits:
                await change(self._client, INSTANCES, each, lambda one: disown(one, wanted))
            elif ours:
                kept.append(each)
        return kept

    async def _scale(self, wanted: Object, owned: list[Object]) -> list[Object]:
        """The instances after one step towards the wanted number. Raises InstanceFault where one is refused."""
        living = replicas.active(owned)
        missing = wanted["spec"].get("replicas", 1) - len(living)
        chosen = replicas.victims(living, min(-missing, BURST)) if missing < 0 else []
        for each in [*replicas.ended(owned), *chosen]:
            if await delete(self._client, INSTANCES, each):
                message = f"Stopped the virtual machine by deleting the virtual machine instance {uid_of(each)}"
                self._events.record(wanted, "SuccessfulDelete", message)
        kept = [each for each in owned if each not in chosen]
        for size in replicas.batches(min(missing, BURST)):
            kept += await asyncio.gather(*(self._create(wanted) for _ in range(size)))
        return kept

    async def _create(self, wanted: Object) -> Object:
        instance = from_template(wanted)
        instance["metadata"]["generateName"] = f"{name_of(wanted)}-"
        try:
            made = await self._client.create(INSTANCES, instance)
        except ApiError as error:
            raise refused("an instance", error) from error
        message = f"Started the virtual machine by creating the new virtual machine instance {name_of(made)}"
        self._events.record(wanted, "SuccessfulCreate", message)
        return made

    async def _tell(self, wanted: Object, owned: list[Object], fault: InstanceFault | None) -> None:
        told, now = copy_of(wanted), self._clock.time()
        living = replicas.active(owned)
        status = told.setdefault("status", {})
        status["replicas"], status["readyReplicas"] = len(living), replicas.ready(living)
        status["labelSelector"] = selector.text(wanted["spec"]["selector"])
        if fault:
            set_condition(told, FAILURE, True, fault.reason, fault.message, now)
            if (condition(wanted, FAILURE) or {}).get("message") != fault.message:
                self._events.record(wanted, fault.reason, fault.message, "Warning")
        else:
            drop_condition(told, FAILURE)
        if wanted["spec"].get("paused"):
            set_condition(told, PAUSED, True, "Paused", "spec.paused is set: instances are left as they are", now)
        else:
            drop_condition(told, PAUSED)
        await patch_status(self._client, REPLICA_SETS, wanted, told)


def misfit(wanted: Object) -> InstanceFault | None:
    """What is wrong with a set whose instances would not have the labels that it knows its own by."""
    labels = (wanted["spec"]["template"].get("metadata") or {}).get("labels") or {}
    if selector.matches(wanted["spec"]["selector"], labels):
        return None
    message = (
        f"spec.template.metadata.labels ({_written(labels)}) are not what spec.selector asks for "
        f"({selector.text(wanted['spec']['selector']) or 'nothing'}): instances are left as they are and none is made "
        "until the labels are changed; the selector of a set stays"
    )
    return InstanceFault("SelectorMismatch", message)


def _written(labels: Object) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items())) or "none"


def _fits(wanted: Object, instance: Object) -> bool:
    return selector.matches(wanted["spec"]["selector"], instance["metadata"].get("labels") or {})
