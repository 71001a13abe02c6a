"""How large a claim must be for what it is to hold."""

from fractions import Fraction

from ingot.api.object import Object
from ingot.api.quantity import whole, written
from ingot.api.resource import Resource
from ingot.api.resources import SNAPSHOTS

# What a filesystem keeps for itself, of its whole size, as CDI reckons where nothing else is said.
FILESYSTEM_OVERHEAD = Fraction(55, 1000)
_ALIGNMENT = 1 << 20


def requested(claim_spec: Object) -> int | None:
    """The size that a claim's spec asks for, in bytes."""
    size = ((claim_spec.get("resources") or {}).get("requests") or {}).get("storage")
    return None if size is None else whole(size)


def with_overhead(size: int) -> int:
    """The size of a filesystem with room for a file of `size` bytes, which is rounded up to whole MiB."""
    aligned = -(-size // _ALIGNMENT) * _ALIGNMENT
    return -int(-aligned // (1 - FILESYSTEM_OVERHEAD))


def enlarged(claim_spec: Object, least: int) -> Object:
    """The resources that a claim's spec asks for, with no less storage than `least`."""
    resources: Object = claim_spec.get("resources") or {}
    if least <= (requested(claim_spec) or 0):
        return resources
    return {**resources, "requests": {**(resources.get("requests") or {}), "storage": written(least)}}


def least_clone(kind: Resource, origin: Object) -> int | None:
    """What a clone of this claim or snapshot must ask for at least; None while that is not known. Of a claim that is
    what it asked for itself, as CDI has it: what storage gives beyond that, it gives to both."""
    asked = None if kind == SNAPSHOTS else requested(origin["spec"])
    return of_origin(kind, origin) if asked is None else asked


def of_origin(kind: Resource, origin: Object) -> int | None:
    """How large this claim or snapshot is; None while that is not known."""
    status = origin.get("status") or {}
    if kind == SNAPSHOTS:
        size = status.get("restoreSize")
    else:
        size = (status.get("capacity") or {}).get("storage") if status.get("phase") == "Bound" else None
    return None if size is None else whole(size)
