"""Who has a claim at this moment, and may be writing to it."""

from ingot.api.kubevirt import phase
from ingot.api.kubevirt.traits import claim_of, copy_mode, is_read_only
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.pod_claims import claims_of, held_by
from ingot.api.resources import INSTANCES, PODS
from ingot.control.volumes.marks import is_over
from ingot.kube.cache import Cache
from ingot.kube.client import Client
from ingot.kube.manager import Manager
from ingot.kube.objects import controller_of

_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


class Writers:
    """Pods are asked for when somebody wants to know: a cache of all of a cluster's would be for this alone."""

    def __init__(self, manager: Manager) -> None:
        self._client: Client = manager.client
        self._instances: Cache = manager.informer(INSTANCES).cache

    async def of(self, claim: Object, but: str = "") -> str:
        """A pod or machine that may write to the claim, "" where there is none but the pod of that name."""
        return await self._holder(claim, but, readers=False)

    async def users(self, claim: Object, but: str = "") -> str:
        """The same, and those count too that may only read."""
        return await self._holder(claim, but, readers=True)

    async def _holder(self, claim: Object, but: str, *, readers: bool) -> str:
        for instance in self._instances.list(namespace_of(claim)):
            volumes = [each for each in instance["spec"].get("volumes") or () if claim_of(each) == name_of(claim)]
            # QEMU reaches some volumes by itself, past every pod.
            if not phase.is_final(instance) and any(readers or _writes(each) for each in volumes):
                return f'VirtualMachineInstance "{name_of(instance)}"'
        pods = await self._pods(claim, readers=readers)
        return next((f'pod "{name_of(pod)}"' for pod in pods if name_of(pod) != but), "")

    async def strangers(self, claim: Object) -> str:
        """A pod that may write to the claim, "" where there is none. A machine's is none: it waits for who holds the
        storage."""
        pods = await self._pods(claim)
        strange = (pod for pod in pods if (controller_of(pod) or {}).get("kind") != INSTANCES.kind)
        return next((f'pod "{name_of(pod)}"' for pod in strange), "")

    async def _pods(self, claim: Object, *, readers: bool = False) -> list[Object]:
        found = (await self._client.list(PODS, namespace_of(claim)))["items"]
        mounts = _has if readers else _mounts
        return [pod for pod in found if not is_over(pod) and mounts(pod, name_of(claim))]


def _writes(volume: Object) -> bool:
    return copy_mode(volume) == "none" and not is_read_only(volume)


def _has(pod: Object, claim: str) -> bool:
    """Whether the pod has the claim at all."""
    return claim in claims_of(pod)


def _mounts(pod: Object, claim: str) -> bool:
    """Whether one of the pod's containers has the claim, and not to read only."""
    volumes = {held.volume for held in held_by(pod) if held.claim == claim and not held.read_only}
    containers = [each for kind in _CONTAINERS for each in pod["spec"].get(kind) or ()]
    mounts = [each for container in containers for each in container.get("volumeMounts") or ()]
    devices = [each for container in containers for each in container.get("volumeDevices") or ()]
    return any(each["name"] in volumes and not each.get("readOnly") for each in [*mounts, *devices])
