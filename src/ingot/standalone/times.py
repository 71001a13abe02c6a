"""Times as Kubernetes reads and writes them: RFC 3339, in UTC, to the second or to the microsecond."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
_USUAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII).fullmatch


class _Part(NamedTuple):
    """A part of a time: Go's name for it, what it takes, and the least and the most if it is a number."""

    name: str
    match: Callable[[str], re.Match[str] | None]
    unit: str = ""
    low: int = 0
    high: int = 0


def _part(name: str, pattern: str, unit: str = "", low: int = 0, high: int = 0) -> _Part:
    return _Part(name, re.compile(pattern, re.ASCII).match, unit, low, high)


_DATE = (
    _part("2006", r"\d{4}", "year", 0, 9999),
    _part("-", "-"),
    _part("01", r"\d{2}", "month", 1, 12),
    _part("-", "-"),
    _part("02", r"\d{2}", "day", 1, 31),
    _part("T", "T"),
    _part("15", r"\d{1,2}", "hour", 0, 23),
    _part(":", ":"),
    _part("04", r"\d{2}", "minute", 0, 59),
    _part(":", ":"),
    _part("05", r"\d{2}", "second", 0, 59),
)
_ZONE = _part("Z07:00", r"Z|[+-]\d{2}:\d{2}")
# Seconds may have a fraction of any length; where microseconds are asked for, exactly six digits.
_SECONDS = (_part("", r"(?:[.,]\d+)?"), _ZONE)
_MICROS = (_part(".000000", r"\.\d{6}"), _ZONE)


class TimeError(ValueError):
    """The text is no time; the message is the one Go gives."""


def parse(text: str, micro: bool = False) -> datetime:
    """Reads a time as Kubernetes does. Raises TimeError."""
    rest = text
    numbers = []
    for part in (*_DATE, *(_MICROS if micro else _SECONDS)):
        found = part.match(rest)
        if found is None:
            layout = _MICRO_LAYOUT if micro else _LAYOUT
            raise TimeError(f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{part.name}"')
        if part.unit:
            numbers.append(int(found[0]))
            if not part.low <= numbers[-1] <= part.high:
                raise TimeError(f'parsing time "{text}": {part.unit} out of range')
        rest = rest[found.end() :]
    if rest:
        raise TimeError(f'parsing time "{text}": extra text: "{rest}"')
    return _moment(text, numbers)


def _moment(text: str, numbers: list[int]) -> datetime:
    year, month, day, hour, minute, second = numbers
    fraction = re.search(r"[.,](\d+)", text)
    micros = int((fraction[1] + "000000")[:6]) if fraction else 0
    try:
        return datetime(year, month, day, hour, minute, second, micros, tzinfo=UTC) - _offset(text)
    except (ValueError, OverflowError):
        raise TimeError(f'parsing time "{text}": day out of range') from None


def _offset(text: str) -> timedelta:
    zone = re.search(r"([+-])(\d{2}):(\d{2})$", text)
    if zone is None:
        return timedelta()
    size = timedelta(hours=int(zone[2]), minutes=int(zone[3]))
    return -size if zone[1] == "-" else size


def written(moment: datetime, micro: bool = False) -> str:
    """The moment as it stands in an object."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")


def canonical(text: str, micro: bool = False) -> str:
    """What Kubernetes stores for a time that it was given. Raises TimeError."""
    if not micro and _usable(text):
        return text
    return written(parse(text, micro), micro)


def _usable(text: str) -> bool:
    """Whether the text is canonical already: the common case, made cheap."""
    if not _USUAL(text):
        return False
    try:
        datetime.fromisoformat(text[:-1])
    except ValueError:
        return False
    return True
