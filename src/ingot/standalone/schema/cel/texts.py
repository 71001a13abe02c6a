"""Functions of texts and of lists."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice, pairwise
from typing import Any

from ingot.standalone.schema.cel import operators
from ingot.standalone.schema.cel.equality import equal
from ingot.standalone.schema.cel.faults import CelError, no_overload
from ingot.standalone.schema.cel.formatting import format_text
from ingot.standalone.schema.cel.times import SECOND, Duration, Timestamp
from ingot.standalone.schema.cel.values import UInt, kind_of
from ingot.standalone.schema.goregex import PatternError
from ingot.standalone.schema.patterns import pattern

_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_UPPER = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_SPACE = "".join(map(chr, (9, 10, 11, 12, 13, 32, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029)))
_SPACE += "\u202f\u205f\u3000"
_QUOTED = str.maketrans(
    {"\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v", "\\": r"\\", '"': r"\""}
)


def matches(text: str, expression: str) -> bool:
    try:
        return pattern(expression).matches(text)
    except PatternError as error:
        raise CelError(str(error)) from None


def _found(text: str, expression: str) -> Iterator[str]:
    try:
        yield from pattern(expression).find_all(text)
    except PatternError as error:
        raise CelError(f"Illegal regex: {error}") from None


def find(text: str, expression: str) -> str:
    return next(_found(text, expression), "")


def find_all(text: str, expression: str, limit: int = -1) -> list[str]:
    return list(islice(_found(text, expression), None if limit < 0 else limit))


def _in_range(position: int, text: str) -> int:
    if not 0 <= position <= len(text):
        raise CelError(f"index out of range: {position}")
    return position


def char_at(text: str, position: int) -> str:
    return text[_in_range(position, text) :][:1]


def substring(text: str, start: int, end: int | None = None) -> str:
    if end is None:
        return text[_in_range(start, text) :]
    if start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    return text[_in_range(start, text) : _in_range(end, text)]


def index_of(value: Any, wanted: Any, offset: int = 0) -> int:
    if not isinstance(value, str):
        return next((place for place, item in enumerate(value) if equal(item, wanted)), -1)
    if not wanted:
        return offset
    if offset < 0:
        raise CelError(f"index out of range: {offset}")
    return value.find(wanted, offset)


def last_index_of(value: Any, wanted: Any, offset: int | None = None) -> int:
    if not isinstance(value, str):
        return next((place for place in reversed(range(len(value))) if equal(value[place], wanted)), -1)
    if not wanted:
        return len(value) if offset is None else offset
    last = len(value) - 1 if offset is None else offset
    if last < 0:
        raise CelError(f"index out of range: {last}")
    return value.rfind(wanted, 0, last + len(wanted)) if last < len(value) else -1


def replace(text: str, old: str, new: str, limit: int = -1) -> str:
    return text.replace(old, new, limit)


def split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if not separator:
        pieces = list(text)
        return pieces if limit < 0 or limit >= len(pieces) else [*pieces[: limit - 1], "".join(pieces[limit - 1 :])]
    return text.split(separator, limit - 1 if limit > 0 else -1)


def join(items: Iterable[Any], separator: str = "") -> str:
    pieces = list(items)
    for piece in pieces:
        if not isinstance(piece, str):
            raise CelError(f"join: invalid input: {piece}")
    return separator.join(pieces)


def is_sorted(items: Iterable[Any]) -> bool:
    pieces = list(items)
    return all(not _greater(one, other) for one, other in pairwise(pieces))


_greater = operators.OPERATORS["_>_"]


def least(items: Iterable[Any]) -> Any:
    return _extreme(list(items), "min", lambda best, item: _greater(best, item))


def greatest(items: Iterable[Any]) -> Any:
    return _extreme(list(items), "max", lambda best, item: _greater(item, best))


def _extreme(items: list[Any], name: str, better: Callable[[Any, Any], bool]) -> Any:
    if not items:
        raise CelError(f"{name} called on empty list")
    best = items[0]
    for item in items[1:]:
        if better(best, item):
            best = item
    return best


def total(items: Iterable[Any]) -> Any:
    pieces = list(items)
    if not pieces:
        return 0
    zeros: dict[str, Any] = {"int": 0, "uint": UInt(), "double": 0.0, "duration": Duration(0)}
    result = zeros.get(kind_of(pieces[0]))
    if result is None:
        raise no_overload()
    for piece in pieces:
        result = operators.add(result, piece)
    return result


def _within(one: Any, other: Any) -> bool:
    """Whether the one list has all that is in the other."""
    known = {_identity(item) for item in one}
    if _COMPOUND in known:
        return all(operators.contains(item, one) for item in other)
    return all(_identity(item) in known for item in other)


def _common(one: Any, other: Any) -> bool:
    known = {_identity(item) for item in one}
    if _COMPOUND in known:
        return any(operators.contains(item, one) for item in other)
    return any(_identity(item) in known for item in other)


_COMPOUND = ("compound",)


def _identity(value: Any) -> Any:
    """Equal for equal scalars: numbers by their value, whatever their type, and true is no number."""
    if isinstance(value, bool):
        return (bool, value)
    kind = kind_of(value)
    if kind in ("list", "map", "unknown"):
        return _COMPOUND
    return value if kind in ("int", "uint", "double") else (kind, value)


def _part(read: Callable[[Any], int], of_duration: int = 0) -> Callable[..., int]:
    """A getter of a moment's part, in a time zone; or of a duration, as a whole number of a unit."""

    def run(value: Any, zone: str = "UTC") -> int:
        if isinstance(value, Duration):
            whole = abs(value.nanoseconds) // of_duration
            return whole if value.nanoseconds >= 0 else -whole
        return read(value.local(zone))

    return run


def _milliseconds(value: Any, _zone: str = "UTC") -> int:
    if isinstance(value, Duration):
        whole = abs(value.nanoseconds) // 10**6
        return whole if value.nanoseconds >= 0 else -whole
    moment: Timestamp = value
    return moment.nanoseconds % SECOND // 10**6


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "contains": lambda text, part: part in text,
    "startsWith": str.startswith,
    "endsWith": str.endswith,
    "matches": matches,
    "find": find,
    "findAll": find_all,
    "charAt": char_at,
    "substring": substring,
    "indexOf": index_of,
    "lastIndexOf": last_index_of,
    "lowerAscii": lambda text: text.translate(_LOWER),
    "upperAscii": lambda text: text.translate(_UPPER),
    "replace": replace,
    "split": split,
    "trim": lambda text: text.strip(_SPACE),
    "join": join,
    "format": format_text,
    "strings.quote": lambda text: f'"{text.translate(_QUOTED)}"',
    "isSorted": is_sorted,
    "min": least,
    "max": greatest,
    "sum": total,
    "sets.contains": _within,
    "sets.equivalent": lambda one, other: _within(one, other) and _within(other, one),
    "sets.intersects": _common,
    "getFullYear": _part(lambda moment: moment.year),
    "getMonth": _part(lambda moment: moment.month - 1),
    "getDayOfYear": _part(lambda moment: moment.timetuple().tm_yday - 1),
    "getDayOfMonth": _part(lambda moment: moment.day - 1),
    "getDate": _part(lambda moment: moment.day),
    "getDayOfWeek": _part(lambda moment: moment.isoweekday() % 7),
    "getHours": _part(lambda moment: moment.hour, 3600 * SECOND),
    "getMinutes": _part(lambda moment: moment.minute, 60 * SECOND),
    "getSeconds": _part(lambda moment: moment.second, SECOND),
    "getMilliseconds": _milliseconds,
}
