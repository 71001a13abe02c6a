"""What keeps a snapshot from being taken."""

from ingot.api.object import Object
from ingot.kube.clock import timestamp


class SnapshotFault(Exception):
    """`reason` is one CamelCase word as external-snapshotter's; the message says what is wrong and what would help."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def failed(status: Object, message: str, now: float) -> Object:
    """The status with an error. The same error again is no news, and keeps its time."""
    known = status.get("error") or {}
    if known.get("message") == message and status.get("readyToUse") is False:
        return status
    return {**status, "readyToUse": False, "error": {"message": message, "time": timestamp(now)}}
