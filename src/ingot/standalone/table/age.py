"""How long ago, as kubectl says it: `45s`, `5m30s`, `3h`, `2d4h`."""

from datetime import UTC, datetime

from ingot.api.object import Object

UNKNOWN = "<unknown>"
INVALID = "<invalid>"

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400


def human(seconds: float) -> str:
    """A duration, the more roughly the longer it is."""
    whole = int(seconds)
    if whole < 0:
        # Clocks differ a little: what lies less than two seconds ahead is now.
        return INVALID if whole < -1 else "0s"
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < 10 * _MINUTE:
        return _two(whole, _MINUTE, "m", 1, "s")
    if whole < 3 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 8 * _HOUR:
        return _two(whole, _HOUR, "h", _MINUTE, "m")
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    if whole < 8 * _DAY:
        return _two(whole, _DAY, "d", _HOUR, "h")
    if whole < 2 * _YEAR:
        return f"{whole // _DAY}d"
    if whole < 8 * _YEAR:
        return _two(whole, _YEAR, "y", _DAY, "d")
    return f"{whole // _YEAR}y"


def _two(whole: int, large: int, large_name: str, small: int, small_name: str) -> str:
    rest = whole % large // small
    return f"{whole // large}{large_name}" + (f"{rest}{small_name}" if rest else "")


def since(timestamp: str | None, now: datetime | None = None) -> str:
    """How long ago a timestamp of an object was."""
    if not timestamp:
        return UNKNOWN
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return INVALID
    if moment.tzinfo is None:
        return INVALID
    return human(((now or datetime.now(UTC)) - moment).total_seconds())


def of(obj: Object) -> str:
    """The age of an object."""
    return since(obj.get("metadata", {}).get("creationTimestamp"))
