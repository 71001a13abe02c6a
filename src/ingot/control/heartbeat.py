"""Conditions as CDI and the operators around it write them."""

from ingot.api.object import Object
from ingot.kube.clock import timestamp
from ingot.kube.objects import condition


def set_condition(obj: Object, kind: str, status: str, reason: str, message: str, now: float) -> bool:
    """Set a condition; whether that changed it. `lastHeartbeatTime` changes with any of it, `lastTransitionTime` with
    the status alone."""
    known = condition(obj, kind)
    if known is None:
        known = {"type": kind}
        obj.setdefault("status", {}).setdefault("conditions", []).append(known)
    wanted = {"status": status, "reason": reason, "message": message}
    if all(known.get(field) == value for field, value in wanted.items()):
        return False
    when = timestamp(now)
    moved = {} if known.get("status") == status else {"lastTransitionTime": when}
    known.update({**wanted, **moved, "lastHeartbeatTime": when})
    return True
