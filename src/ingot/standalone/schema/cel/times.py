"""Moments and spans of time, in nanoseconds, as Go has them."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ingot.standalone.goprint import INT64
from ingot.standalone.schema.cel.faults import CelError
from ingot.standalone.schema.formats import is_date

SECOND = 10**9
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:[.,](\d+))?([Zz]|[+-]\d{2}:\d{2})?", re.ASCII)
_OFFSET = re.compile(r"([+-]?)(\d{2}):(\d{2})", re.ASCII)
_EARLIEST = -62135596800 * SECOND
_LATEST = 253402300800 * SECOND - 1


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    nanoseconds: int

    def __str__(self) -> str:
        whole, rest = divmod(abs(self.nanoseconds), SECOND)
        sign = "-" if self.nanoseconds < 0 else ""
        return f"{sign}{whole}" + (f".{rest:09d}".rstrip("0") if rest else "") + "s"


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    nanoseconds: int

    def __str__(self) -> str:
        rest = self.nanoseconds % SECOND
        fraction = f".{rest:09d}".rstrip("0") if rest else ""
        return f"{self.local():%Y-%m-%dT%H:%M:%S}{fraction}Z"

    def local(self, zone: str = "UTC") -> datetime:
        """The moment in a time zone, by name or as `+01:00`, without what is finer than a second."""
        return (_EPOCH + timedelta(seconds=self.nanoseconds // SECOND)).astimezone(_zone(zone))


def moment(nanoseconds: int) -> Timestamp:
    """Raises CelError outside of the years 1 to 9999."""
    if not _EARLIEST <= nanoseconds <= _LATEST:
        raise CelError("timestamp overflow")
    return Timestamp(nanoseconds)


def span(nanoseconds: int) -> Duration:
    if nanoseconds not in INT64:
        raise CelError("duration overflow")
    return Duration(nanoseconds)


def parse(text: str, date_only: bool = False, strict: bool = False) -> Timestamp | None:
    """A date or a moment of RFC 3339; a moment without a time zone is one in UTC, unless that is too lenient."""
    if date_only:
        return _at(text, 0, 0) if is_date(text) else None
    if not text and not strict:
        return Timestamp(0)
    match = _MOMENT.fullmatch(text)
    if match is None or not is_date(match[1]):
        return None
    hour, minute, second = int(match[2]), int(match[3]), int(match[4])
    if hour > 23 or minute > 59 or second > 59 or (strict and match[6] is None):
        return None
    fraction = int((match[5] or "0")[:9].ljust(9, "0"))
    offset = _offset(match[6]) if match[6] and match[6] not in "Zz" else timedelta()
    if offset is None:
        return None
    seconds = hour * 3600 + minute * 60 + second - int(offset.total_seconds())
    return _at(match[1], seconds, fraction)


def _at(date: str, seconds: int, nanoseconds: int) -> Timestamp | None:
    if date.startswith("0000"):
        return None
    days = (datetime.fromisoformat(date).replace(tzinfo=UTC) - _EPOCH).days
    return Timestamp((days * 86400 + seconds) * SECOND + nanoseconds)


def _offset(text: str) -> timedelta | None:
    match = _OFFSET.fullmatch(text)
    if match is None or int(match[2]) > 23 or int(match[3]) > 59:
        return None
    size = timedelta(hours=int(match[2]), minutes=int(match[3]))
    return -size if match[1] == "-" else size


def _zone(name: str) -> tzinfo:
    offset = _offset(name)
    if offset is not None:
        return timezone(offset)
    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise CelError(f"unknown time zone {name}") from None
