"""Claims that no DataVolume has made, seen as if one had: with its phases, conditions and progress."""

import time

from ingot.api.cdi.names import PRIME_FOR, RUNNING_REASON
from ingot.api.object import Object
from ingot.api.resources import DATA_VOLUMES
from ingot.control.volumes.marks import annotation, is_bound
from ingot.control.volumes.source import populator_of
from ingot.control.volumes.status import Seen, told_by, write
from ingot.kube.objects import controller_of, copy_of

_WAITS = "WaitForFirstConsumer"


def is_filled_here(claim: Object) -> bool:
    """Whether a populator of ours fills the claim, or has."""
    return populator_of(claim) is not None


def is_volumes(claim: Object) -> bool:
    """Whether there is a DataVolume that tells of the claim, or another claim that does."""
    return (controller_of(claim) or {}).get("kind") == DATA_VOLUMES.kind or bool(annotation(claim, PRIME_FOR))


def as_volume(claim: Object) -> Object:
    """The claim, with the status that a DataVolume of it would have."""
    operation = populator_of(claim)
    seen = Seen(
        claim=claim,
        operation=operation,
        filled=operation is not None and is_bound(claim) and told_by(claim) is None,
        waits=annotation(claim, RUNNING_REASON) == _WAITS,
    )
    told = {**copy_of(claim), "status": {}}
    write(told, seen, time.time())
    return told
