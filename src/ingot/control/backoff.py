"""Starts that fail one after the other are tried ever more rarely, as `status.startFailure` tells."""

from datetime import UTC, datetime

from ingot.api.kubevirt import phase
from ingot.api.object import Object, uid_of
from ingot.control.strategy import BY_ITSELF, strategy_of
from ingot.kube.clock import timestamp
from ingot.kube.objects import is_deleting

FIRST_SECONDS = 10
LONGEST_SECONDS = 300


def delay(failures: int) -> int:
    """How long to wait after that many failures in a row: 10 s, 20 s, 40 s, up to 5 minutes."""
    return min(FIRST_SECONDS << min(failures - 1, 30), LONGEST_SECONDS)


def note(machine: Object, instance: Object | None, now: float) -> None:
    """Count an instance that ended before its guest ever ran, once; a guest that ran clears the count.

    One that somebody deleted did not fail: it was not to run any longer.
    """
    status = machine["status"]
    ran = instance is not None and phase.has_run(instance)
    if ran or strategy_of(machine) not in BY_ITSELF:
        status.pop("startFailure", None)
    elif instance is not None and phase.is_final(instance) and not is_deleting(instance):
        known = status.get("startFailure") or {}
        if known.get("lastFailedVMIUID") != uid_of(instance):
            count = known.get("consecutiveFailCount", 0) + 1
            status["startFailure"] = {
                "consecutiveFailCount": count,
                "lastFailedVMIUID": uid_of(instance),
                "retryAfterTimestamp": timestamp(now + delay(count)),
            }


def left(machine: Object, now: float) -> float:
    """Seconds until the next start may be tried."""
    until = ((machine.get("status") or {}).get("startFailure") or {}).get("retryAfterTimestamp")
    return max(datetime.fromisoformat(until).astimezone(UTC).timestamp() - now, 0.0) if until else 0.0
