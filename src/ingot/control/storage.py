"""The volumes of an instance as its controller sees them: which claims its pod mounts, and what is missing."""

from collections.abc import Iterable

from ingot.api.kubevirt import phase
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import DATA_VOLUMES, STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES
from ingot.control.attention import Attention, filling_of
from ingot.control.fault import InstanceFault
from ingot.control.setbacks import Setbacks
from ingot.disks.claims import claim_name, driver_of, is_direct
from ingot.kube.cache import Key
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.manager import Manager

# Sources that no node can deliver yet.
_NOT_DELIVERED = ("container", "containerDisk", "downwardMetrics", "memoryDump")

_LATER = "the machine starts by itself once it is"


def volumes_of(instance: Object) -> list[Object]:
    return list(instance["spec"].get("volumes") or ())


def check_sources(instance: Object) -> None:
    """Raises InstanceFault for a volume whose source is not delivered, or a kernel that comes out of an image."""
    for index, volume in enumerate(volumes_of(instance)):
        for source in _NOT_DELIVERED:
            if source in volume:
                raise _unsupported(f'volume "{volume["name"]}": spec.volumes[{index}].{source}')
    kernel = ((instance["spec"]["domain"].get("firmware") or {}).get("kernelBoot") or {}).get("container")
    if kernel:
        raise _unsupported("spec.domain.firmware.kernelBoot.container")


def _unsupported(field: str) -> InstanceFault:
    message = (
        f"{field} is not delivered by this version of Ingot: the machine waits until it is made with another source"
    )
    return InstanceFault("VolumeSourceNotSupported", message)


class Storage:
    """Claims, volumes and DataVolumes, out of the caches."""

    def __init__(self, manager: Manager, clock: Clock = SYSTEM) -> None:
        self.claims = manager.informer(VOLUME_CLAIMS)
        self.volumes = manager.informer(VOLUMES)
        self.data_volumes = manager.informer(DATA_VOLUMES)
        self.attention = Attention(self.data_volumes, clock)
        self.classes = manager.informer(STORAGE_CLASSES)
        self.setbacks = Setbacks(manager)

    def claim(self, volume: Object, namespace: str) -> Object | None:
        """The claim that a volume stands on; None without one, and for one that is not there."""
        name = claim_name(volume)
        return self.claims.cache.get(Key(namespace, name)) if name else None

    def mounted(self, instance: Object) -> dict[str, Object]:
        """The claims that the kubelet is to mount, by volume name. Raises InstanceFault while one is not ready."""
        found = {}
        for volume in volumes_of(instance):
            if claim_name(volume):
                claim = self._ready(volume, namespace_of(instance))
                if not self._is_direct(volume, claim):
                    found[volume["name"]] = claim
        return found

    def _ready(self, volume: Object, namespace: str) -> Object:
        name = str(claim_name(volume))
        claim = self.claims.cache.get(Key(namespace, name))
        if "dataVolume" in volume:
            self._check_data_volume(volume["name"], Key(namespace, name))
        if claim is None:
            message = (
                f'PersistentVolumeClaim "{name}" of volume "{volume["name"]}" is not in namespace "{namespace}": '
                "the machine starts by itself once it is there"
            )
            raise InstanceFault("FailedPvcNotFound", message)
        return claim

    def _check_data_volume(self, volume: str, key: Key) -> None:
        data_volume = self.data_volumes.cache.get(key)
        if data_volume is None:
            return
        filling = filling_of(data_volume)
        if filling == "Failed":
            message = f'DataVolume "{key.name}" of volume "{volume}" has failed: delete it, and the machine goes on'
            raise InstanceFault("FailedDataVolumeImport", message)
        if filling != "Succeeded":
            left = self.attention.left(data_volume)
            message = (
                f'DataVolume "{key.name}" of volume "{volume}" is not filled yet ({filling or "not begun"}): '
                "the machine starts by itself once it is"
            )
            raise InstanceFault("DataVolumeNotReady", message, left or None)

    def _is_direct(self, volume: Object, claim: Object) -> bool:
        """Whether QEMU reaches the claim itself. Raises InstanceFault while that cannot be told."""
        driver = driver_of(volume)
        if driver == "kubelet":
            return False
        pv = self.bound_volume(claim)
        if pv is not None:
            return is_direct(pv, driver)
        if driver != "qemu" and self._waits_for_pod(claim):
            return False
        raise self.setback(volume, claim) or InstanceFault("ClaimNotBound", f"{_unbound(volume, claim)}: {_LATER}")

    def setback(self, volume: Object, claim: Object) -> InstanceFault | None:
        """Why a claim that is not bound does not get a volume, where somebody has said that."""
        why = "" if _claim_phase(claim) == "Bound" else self.setbacks.last(claim)
        return InstanceFault("ClaimNotBound", f"{_unbound(volume, claim)}: {why}; {_LATER}") if why else None

    def check_progress(self, instance: Object) -> None:
        """Raises InstanceFault for a claim that waits for its volume after something went wrong with that."""
        for volume in volumes_of(instance):
            claim = self.claim(volume, namespace_of(instance))
            if claim and (fault := self.setback(volume, claim)):
                raise fault

    def bound_volume(self, claim: Object) -> Object | None:
        """The PersistentVolume that a claim is bound to, both ways."""
        name = claim["spec"].get("volumeName")
        pv = self.volumes.cache.get(Key("", name)) if name else None
        holder = (pv or {}).get("spec", {}).get("claimRef") or {}
        return pv if holder.get("uid") == uid_of(claim) else None

    def _waits_for_pod(self, claim: Object) -> bool:
        """Whether the claim is bound only once a pod that uses it has been scheduled."""
        found = self.classes.cache.get(Key("", claim["spec"].get("storageClassName") or ""))
        return (found or {}).get("volumeBindingMode") == "WaitForFirstConsumer"

    def statuses(self, instance: Object) -> Iterable[Object]:
        """What there is to say of each volume in `volumeStatus`; of its phase only until the node tells that."""
        early = phase.phase_of(instance) in phase.EARLY
        for volume in volumes_of(instance):
            claim = self.claim(volume, namespace_of(instance))
            told = {"phase": _claim_phase(claim)} if early and claim_name(volume) else {}
            yield {"name": volume["name"], **told, **(_claim_info(claim) if claim else {})}


def _unbound(volume: Object, claim: Object) -> str:
    return f'PersistentVolumeClaim "{name_of(claim)}" of volume "{volume["name"]}" is not bound to a volume yet'


def _claim_phase(claim: Object | None) -> str:
    return str(((claim or {}).get("status") or {}).get("phase") or "Pending")


def _claim_info(claim: Object) -> Object:
    spec, status = claim["spec"], claim.get("status") or {}
    info = {
        "claimName": name_of(claim),
        "accessModes": spec.get("accessModes"),
        "volumeMode": spec.get("volumeMode") or "Filesystem",
        "capacity": status.get("capacity"),
        "requests": (spec.get("resources") or {}).get("requests"),
    }
    return {"persistentVolumeClaimInfo": {key: value for key, value in info.items() if value}}
