"""Which volumes of a machine a snapshot would hold, told in its status before anybody makes one (F5)."""

from collections.abc import Iterable

from ingot.api.kubevirt import phase
from ingot.api.kubevirt.traits import claim_of
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import INSTANCES, MACHINES, NODES, STORAGE_CLASSES, VOLUMES
from ingot.control.snapshots.parts import Part, Parts
from ingot.kube.cache import Key, key_of
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.controller import Controller
from ingot.kube.manager import Manager
from ingot.kube.objects import is_deleting

_BY_CLAIM = "snapshot-claim"
_FIELD = "volumeSnapshotStatuses"


def _claims_of(machine: Object) -> Iterable[str]:
    volumes = machine["spec"]["template"]["spec"].get("volumes") or ()
    return [f"{namespace_of(machine)}/{name}" for each in volumes if (name := claim_of(each))]


class SnapshotAbility:
    """The controller. It writes nothing but that one field."""

    def __init__(self, manager: Manager, clock: Clock = SYSTEM) -> None:
        self._client = manager.client
        self._parts = Parts(manager, clock)
        self._machines = manager.informer(MACHINES)
        self._machines.cache.add_index(_BY_CLAIM, _claims_of)
        self._instances = manager.informer(INSTANCES)
        controller = Controller("snapshot-ability", self.reconcile, clock=clock).after(self._parts.kinds.settled)
        controller.watch(self._machines).watch(self._instances).watch(self._parts.claims, self._of_claim)
        controller.watch(manager.informer(STORAGE_CLASSES), lambda _: map(key_of, self._machines.cache.list()))
        for resource in (VOLUMES, NODES):
            # Read, not followed: a claim that is bound tells of its volume.
            controller.watch(manager.informer(resource), lambda _: ())
        manager.add(controller)

    def _of_claim(self, claim: Object) -> list[Key]:
        return [key_of(each) for each in self._machines.cache.by_index(_BY_CLAIM, str(key_of(claim)))]

    async def reconcile(self, key: Key) -> None:
        machine = self._machines.cache.get(key)
        if machine is None or is_deleting(machine):
            return
        instance = self._instances.cache.get(key)
        parts = self._parts.of(machine, None if instance is None or phase.is_final(instance) else instance)
        told = [_told(part) for part in parts]
        if told != ((machine.get("status") or {}).get(_FIELD) or []):
            change = {"metadata": {"uid": uid_of(machine)}, "status": {_FIELD: told}}
            await self._client.patch(MACHINES, name_of(machine), change, namespace_of(machine), subresource="status")


def _told(part: Part) -> Object:
    if part.copied:
        return {"name": part.volume, "enabled": True, "reason": f"as a full copy: {part.why}"}
    return {"name": part.volume, "enabled": part.is_held, **({"reason": part.why} if part.why else {})}
