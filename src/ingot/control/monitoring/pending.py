"""DataVolumes that nobody can begin to fill."""

from ingot.api.object import Object
from ingot.control.volumes.claim import class_of, wish_of
from ingot.control.volumes.marks import phase_of
from ingot.kube.cache import Cache, key_of

_NOT_BEGUN = ("", "Pending")


def waits_for_class(volume: Object, claims: Cache, classes: Cache) -> bool:
    """Whether a DataVolume names no StorageClass, and there is no default one that its claim could have."""
    if phase_of(volume) not in _NOT_BEGUN or claims.get(key_of(volume)) is not None:
        return False
    wish = wish_of(volume)
    return wish.get("storageClassName") is None and class_of(wish, classes) is None
