"""What keeps a claim from its volume where no populator of ours is at work: then nobody tells of it on the claim."""

from ingot.api.cdi.filling import has_failed
from ingot.api.object import Object
from ingot.api.resources import STORAGE_CLASSES
from ingot.control.setbacks import Setbacks
from ingot.control.volumes.fault import VolumeFault
from ingot.control.volumes.marks import phase_of
from ingot.control.volumes.source import populator_of
from ingot.kube.cache import Key
from ingot.kube.controller import Controller
from ingot.kube.manager import Manager


class Hindrances:
    """Out of caches: StorageClasses, and events of claims."""

    def __init__(self, manager: Manager) -> None:
        self._classes = manager.informer(STORAGE_CLASSES)
        self._setbacks = Setbacks(manager)

    def listen(self, controller: Controller) -> None:
        """Look at what has the name of a claim when something is said of that. Classes are watched by others."""
        controller.watch(self._setbacks.events, _claim_of)

    def of(self, claim: Object) -> VolumeFault | None:
        """None for a claim that has its volume, or that nothing is known of, or that tells itself."""
        if populator_of(claim) or has_failed(claim) or phase_of(claim) not in ("", "Pending"):
            return None
        name = claim["spec"].get("storageClassName")
        if name and self._classes.cache.get(Key("", name)) is None:
            missing = f'spec.storageClassName: StorageClass "{name}" is not there'
            message = f"{missing}; the claim waits for it, or for a volume of it"
            return VolumeFault("StorageClassNotFound", message)
        said = self._setbacks.last(claim)
        return VolumeFault("ClaimNotBound", said) if said else None


def _claim_of(event: Object) -> list[Key]:
    named = event["involvedObject"]
    return [Key(named.get("namespace", ""), named.get("name", ""))]
