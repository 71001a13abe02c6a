"""What the status of a restore says."""

from ingot.api.object import Object
from ingot.control.snapshots.words import FAILURE, PROGRESSING, READY
from ingot.kube.clock import timestamp
from ingot.kube.objects import is_true, set_condition

CREATING = "CreatingClaims"


def is_complete(restore: Object) -> bool:
    return bool((restore.get("status") or {}).get("complete"))


def is_over(restore: Object) -> bool:
    """Whether nothing more will be done: it is complete, or has failed."""
    return is_complete(restore) or is_true(restore, FAILURE)


def begun(restore: Object, now: float) -> None:
    """What it is going to do is known."""
    restore["status"]["complete"] = False
    set_condition(restore, PROGRESSING, True, CREATING, "Creating new PVCs", now)
    set_condition(restore, READY, False, CREATING, "Waiting for new PVCs", now)


def waiting(restore: Object, reason: str, message: str, now: float) -> None:
    """It goes on by itself, or once somebody has done what the message says."""
    restore.setdefault("status", {}).setdefault("complete", False)
    set_condition(restore, PROGRESSING, reason == CREATING, reason, message, now)
    set_condition(restore, READY, False, reason, message, now)


def complete(restore: Object, now: float) -> None:
    """The machine stands on what was restored."""
    status = restore.setdefault("status", {})
    status["complete"], status["restoreTime"] = True, timestamp(now)
    set_condition(restore, PROGRESSING, False, "Complete", "Operation complete", now)
    set_condition(restore, READY, True, "Complete", "Operation complete", now)


def failed(restore: Object, message: str, now: float) -> None:
    """It is over, and came to nothing."""
    restore.setdefault("status", {})["complete"] = False
    set_condition(restore, FAILURE, True, "Failed", message, now)
    set_condition(restore, PROGRESSING, False, "Failed", "Operation failed", now)
    set_condition(restore, READY, False, "Failed", "Operation failed", now)
