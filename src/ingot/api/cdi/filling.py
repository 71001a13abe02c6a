"""Which claims are still to get their bytes: some have their volume before that."""

from ingot.api.cdi import names
from ingot.api.object import Object, name_of


def is_direct(claim: Object) -> bool:
    """Whether a claim takes an upload itself, as `virtctl image-upload pvc` asks for it: there is no prime."""
    spec = claim["spec"]
    return names.UPLOAD_TARGET in _said(claim) and not (spec.get("dataSourceRef") or spec.get("dataSource"))


def is_waiting(claim: Object) -> bool:
    """Whether a claim still waits for its bytes: it is neither filled, nor going, nor has failed."""
    over = _said(claim).get(names.POD_PHASE) == "Succeeded" or has_failed(claim)
    bound = claim["spec"].get("volumeName") and not is_direct(claim)
    return not (over or bound or claim["metadata"].get("deletionTimestamp"))


def has_failed(claim: Object) -> bool:
    """Whether a claim could not be filled, for good: nobody knows what is in it."""
    return names.FAILURE in _said(claim)


def is_being_filled(claim: Object) -> bool:
    """Whether a claim that has its volume already is still to get its bytes: a prime, or one that takes an upload."""
    hidden = name_of(claim).startswith(names.PRIME_PREFIX) and bool(_said(claim).get(names.PRIME_FOR))
    return hidden or (is_direct(claim) and is_waiting(claim))


def _said(claim: Object) -> dict[str, str]:
    return claim["metadata"].get("annotations") or {}
