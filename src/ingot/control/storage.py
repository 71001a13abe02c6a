"""The volumes of an instance as its controller sees them: which claims its pod mounts, and what is missing."""

from collections.abc import Iterable

from ingot.api.cdi.filling import is_being_filled
from ingot.api.kubevirt import phase
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import DATA_VOLUMES, STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES
from ingot.control.fault import InstanceFault
from ingot.control.setbacks import Setbacks
from ingot.disks.claims import claim_name, driver_of, is_direct
from ingot.kube.cache import Key
from ingot.kube.manager import Manager
from ingot.kube.objects import condition, controller_of, is_deleting, refers_to_kind

# Sources that no node can deliver yet.
_NOT_DELIVERED = ("container", "containerDisk", "downwardMetrics", "memoryDump")

_LATER = "the machine starts by itself once it is"

# Phases of DataVolumes with which a machine may start: all is there, or is fetched once a node has been chosen for it.
STARTABLE = frozenset({"Succeeded", "PendingPopulation", "WaitForFirstConsumer"})


def filling_of(data_volume: Object) -> str:
    """How far it is: its phase, "" while nobody has looked at it."""
    return str((data_volume.get("status") or {}).get("phase") or "")


def is_leaving(claim: Object) -> bool:
    """Whether a claim goes, now or with a DataVolume that is no longer there."""
    holder = controller_of(claim)
    return is_deleting(claim) or bool(holder and refers_to_kind(holder, DATA_VOLUMES.group, DATA_VOLUMES.kind))


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

    def __init__(self, manager: Manager) -> None:
        self.claims = manager.informer(VOLUME_CLAIMS)
        self.volumes = manager.informer(VOLUMES)
        self.data_volumes = manager.informer(DATA_VOLUMES)
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
        key = Key(namespace, name)
        claim, data_volume = self.claims.cache.get(key), self.data_volumes.cache.get(key)
        if "dataVolume" in volume and data_volume is not None:
            _check_data_volume(volume["name"], data_volume)
        if claim is None:
            message = (
                f'PersistentVolumeClaim "{name}" of volume "{volume["name"]}" is not in namespace "{namespace}": '
                "the machine starts by itself once it is there"
            )
            raise InstanceFault("FailedPvcNotFound", message)
        if is_deleting(claim) or (data_volume is None and is_leaving(claim)):
            # A pod that uses it would keep it from going.
            message = f'PersistentVolumeClaim "{name}" of volume "{volume["name"]}" is being deleted: the machine waits'
            raise InstanceFault("FailedPvcNotFound", f"{message} for another one of that name")
        if is_being_filled(claim):
            # What the guest would write now is lost when the disk comes.
            message = f'PersistentVolumeClaim "{name}" of volume "{volume["name"]}" is still being filled'
            raise InstanceFault("ClaimNotFilled", f"{message}: the machine starts by itself when it is done")
        return claim

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


def _check_data_volume(volume: str, data_volume: Object) -> None:
    """Raises InstanceFault for a DataVolume that has failed, or is not filled yet."""
    filling = filling_of(data_volume)
    what = f'DataVolume "{name_of(data_volume)}" of volume "{volume}"'
    why = str((condition(data_volume, "Ready") or {}).get("message") or "")
    if filling == "Failed":
        message = f"{what} has failed{f': {why}' if why else ''}. Delete it, and the machine goes on"
        raise InstanceFault("FailedDataVolumeImport", message)
    if filling not in STARTABLE:
        far = f"{filling}: {why}" if why else filling or "not begun"
        raise InstanceFault("DataVolumeNotReady", f"{what} is not filled yet ({far}): {_LATER}")


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
