"""What claims, volumes and pods say of themselves: annotations and phases."""

from datetime import datetime

from ingot.api.cdi.names import FAILURE, PRIME_FOR, prime_name
from ingot.api.object import Object, name_of, namespace_of
from ingot.control.owning import is_owned
from ingot.kube.cache import Key, key_of
from ingot.kube.objects import is_deleting

_OVER = frozenset({"Succeeded", "Failed"})


def annotation(obj: Object, name: str) -> str:
    """The annotation of that name, "" where there is none."""
    return str((obj["metadata"].get("annotations") or {}).get(name, ""))


def phase_of(obj: Object) -> str:
    return str((obj.get("status") or {}).get("phase") or "")


def is_block(claim: Object) -> bool:
    return bool(claim["spec"].get("volumeMode") == "Block")


def is_bound(claim: Object) -> bool:
    """Whether a claim has its volume for good."""
    return bool(claim["spec"].get("volumeName")) and phase_of(claim) == "Bound"


def is_over(pod: Object) -> bool:
    """Whether none of the pod's containers runs, or will."""
    return phase_of(pod) in _OVER


def target_of(obj: Object) -> Key | None:
    """The claim that a prime or its worker says it is for; None for other objects."""
    namespace, _, name = annotation(obj, PRIME_FOR).partition("/")
    return Key(namespace, name) if namespace and name else None


def is_prime(claim: Object, target: Object) -> bool:
    """Whether a claim is filled in place of that very target."""
    if name_of(claim) != prime_name(target) or annotation(claim, PRIME_FOR) != str(key_of(target)):
        return False
    return namespace_of(claim) != namespace_of(target) or is_owned(claim, target)


def created(obj: Object) -> float:
    """When the object was made, in seconds since 1970."""
    return datetime.fromisoformat(obj["metadata"]["creationTimestamp"]).timestamp()


def is_open(target: Object) -> bool:
    """Whether there is something to fill: it neither has a volume, nor names one, nor has failed."""
    return not (is_deleting(target) or target["spec"].get("volumeName") or annotation(target, FAILURE))


def is_settled(target: Object) -> bool:
    """Whether the claim has a volume, and it has not been told yet that this is none of ours."""
    return is_bound(target) and not is_deleting(target) and not annotation(target, FAILURE)
