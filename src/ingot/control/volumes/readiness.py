"""Whether a claim may be filled at this moment, as far as its StorageClass has a say in that."""

from ingot.api.cdi.names import IMMEDIATE
from ingot.api.object import Object
from ingot.control.volumes.claim import waits_for_consumer
from ingot.control.volumes.filler import Hindered, Waiting
from ingot.kube.cache import Cache, Key

_CONSUMER = (
    "the claim's StorageClass waits for the first consumer: it is filled once a pod that uses it has a node; "
    f"the annotation {IMMEDIATE} asks not to wait"
)


def check(target: Object, classes: Cache) -> None:
    """Raises Hindered while the class is not known, which says how much room its volumes have, or waits for a pod."""
    name = target["spec"].get("storageClassName")
    if name is None:
        raise _without("the claim names no StorageClass, and there is no default", "it has one")
    if name and classes.get(Key("", name)) is None:
        raise _without(f'StorageClass "{name}" is not there', "it is")
    if waits_for_consumer(target, classes):
        raise Hindered(Waiting("WaitForFirstConsumer", _CONSUMER))


def _without(why: str, until: str) -> Hindered:
    message = f"spec.storageClassName: {why}; the claim is filled once {until}"
    return Hindered(Waiting("StorageClassNotFound", message))
