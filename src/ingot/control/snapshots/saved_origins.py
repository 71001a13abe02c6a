"""What full copies are made of: the disks of a running guest, or those of a machine that does not run."""

from ingot.api.kubevirt import phase
from ingot.api.kubevirt.traits import claim_of
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import INSTANCES
from ingot.api.snapshot.saving import kept_volumes
from ingot.control.snapshots.parts import Parts
from ingot.control.volumes.writers import Writers
from ingot.disks.claims import driver_of, is_direct
from ingot.kube.cache import Key
from ingot.kube.manager import Manager
from ingot.kube.objects import is_deleting


class Hindered(Exception):
    """Nothing can be done at this moment; the message says why, and what happens next."""

    def __init__(self, message: str, again: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.again = again


class SavedOrigins:
    """Looks at machines and their claims, out of the caches."""

    def __init__(self, manager: Manager, parts: Parts) -> None:
        self._parts = parts
        self._writers = Writers(manager)
        self.instances = manager.informer(INSTANCES)

    def running(self, content: Object) -> Object | None:
        """The instance whose guest has the disks; None for a machine that does not run. Raises Hindered between."""
        machine = content["spec"]["source"]["virtualMachine"]
        instance = self.instances.cache.get(Key(namespace_of(content), machine["metadata"]["name"]))
        if instance is None or phase.is_final(instance):
            return None
        shown = f'VirtualMachineInstance "{name_of(instance)}"'
        if is_deleting(instance):
            raise Hindered(f"{shown} is being stopped: its disks are copied after that")
        if phase.phase_of(instance) != phase.RUNNING:
            raise Hindered(f"{shown} is being started: its disks are copied after that")
        used = {each["name"]: each for each in instance["spec"].get("volumes") or ()}
        for volume in kept_volumes(content):
            if used.get(volume["name"]) != volume:
                raise Hindered(f'{shown} does not have volume "{volume["name"]}" as it was to be saved: stop it')
        return instance

    def mounted(self, content: Object) -> dict[str, Object]:
        """The claims that the kubelet must mount so that the node can read the disks of a machine that does not run."""
        found = {}
        for volume in kept_volumes(content):
            claim = self._parts.claims.cache.get(Key(namespace_of(content), claim_of(volume)))
            bound = self._parts.volume_of(claim) if claim else None
            if claim and bound and not is_direct(bound, driver_of(volume)):
                found[str(volume["name"])] = claim
        return found

    async def busy(self, content: Object) -> str:
        """Which pod writes to a claim of a machine that does not run; "" where none does, and it can be copied."""
        for claim in self.mounted(content).values():
            if writer := await self._writers.strangers(claim):
                return f'{writer} writes to PersistentVolumeClaim "{name_of(claim)}"'
        return ""
