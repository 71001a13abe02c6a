"""Faults of fields, worded as Kubernetes words them.

Each function gives the Cause of one fault; `value` is printed the way Go prints it, as that is what clients see.
"""

from collections.abc import Callable, Iterable
from typing import Any

from ingot.api.status import Cause

IMMUTABLE = "field is immutable"

_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


def quote(text: str) -> str:
    """The text as a Go string literal."""
    return '"' + "".join(_quoted(char) for char in text) + '"'


def _quoted(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def printed(value: Any) -> str:
    """A JSON value as Go prints it in a message: scalars plainly, lists and maps of strings as literals."""
    if value is None:
        return '"null"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, list):
        return "[]string{" + ", ".join(printed(item) for item in value) + "}"
    if isinstance(value, dict):
        pairs = (f"{quote(key)}:{printed(value[key])}" for key in sorted(value))
        return "map[string]string{" + ", ".join(pairs) + "}"
    return str(value)


def invalid(field: str, value: Any, detail: str) -> Cause:
    return Cause(field, f"Invalid value: {printed(value)}" + _tail(detail), "FieldValueInvalid")


def checked(field: str, value: str, rule: Callable[[str], list[str]]) -> list[Cause]:
    """What a rule of `names` finds wrong with a value."""
    return [invalid(field, value, fault) for fault in rule(value)]


def named(field: str, value: str, rule: Callable[[str], list[str]]) -> list[Cause]:
    """The same for a value that must be there."""
    return checked(field, value, rule) if value else [required(field)]


def immutable(field: str, value: Any) -> Cause:
    return invalid(field, value, IMMUTABLE)


def required(field: str, detail: str = "") -> Cause:
    return Cause(field, "Required value" + _tail(detail), "FieldValueRequired")


def forbidden(field: str, detail: str) -> Cause:
    return Cause(field, "Forbidden" + _tail(detail), "FieldValueForbidden")


def duplicate(field: str, value: Any) -> Cause:
    return Cause(field, f"Duplicate value: {printed(value)}", "FieldValueDuplicate")


def not_found(field: str, value: Any) -> Cause:
    return Cause(field, f"Not found: {printed(value)}", "FieldValueNotFound")


def not_supported(field: str, value: Any, supported: Iterable[str]) -> Cause:
    """`supported` is printed in the order given; Kubernetes sorts it."""
    listed = ", ".join(quote(name) for name in supported)
    detail = f"supported values: {listed}" if listed else ""
    return Cause(field, f"Unsupported value: {printed(value)}" + _tail(detail), "FieldValueNotSupported")


def too_long(field: str, limit: int) -> Cause:
    return Cause(field, f"Too long: may not be more than {limit} bytes", "FieldValueTooLong")


def too_many(field: str, count: int, limit: int) -> Cause:
    return Cause(field, f"Too many: {count}: must have at most {limit} items", "FieldValueTooMany")


def missing(field: str, obj: dict[str, Any], keys: str) -> list[Cause]:
    """A fault for each of the keys, in a text with blanks between them, that `obj` lacks or has empty."""
    return [required(f"{field}.{key}") for key in keys.split() if not obj.get(key)]


def one_of(field: str, value: Any, supported: Iterable[str]) -> list[Cause]:
    """A fault unless the value is one of those supported; one that is absent is required."""
    if not value:
        return [required(field)]
    return [] if value in (supported := list(supported)) else [not_supported(field, value, supported)]


def not_negative(field: str, value: int) -> list[Cause]:
    return [invalid(field, value, "must be greater than or equal to 0")] if value < 0 else []


def _tail(detail: str) -> str:
    return f": {detail}" if detail else ""
