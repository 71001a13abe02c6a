"""Kubernetes' field errors: where, what kind of fault, and the words that kube-apiserver uses for it.

A path is the text that the wire carries (`spec.disks[0].name`); the empty path is the object itself, which
kube-apiserver prints as `<nil>`. Values are JSON, printed as Go prints what it reads them into, or `Shown`.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone.goprint import bad_value, quote


def child(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def key(path: str, name: str) -> str:
    return f"{path}[{name}]"


def index(path: str, position: int) -> str:
    return f"{path}[{position}]"


def _cause(path: str, reason: str, text: str, detail: str) -> Cause:
    return Cause(path or "<nil>", f"{text}: {detail}" if detail else text, reason)


def required(path: str, detail: str = "") -> Cause:
    return _cause(path, "FieldValueRequired", "Required value", detail)


def forbidden(path: str, detail: str) -> Cause:
    return _cause(path, "FieldValueForbidden", "Forbidden", detail)


def invalid(path: str, value: Any, detail: str) -> Cause:
    return _cause(path, "FieldValueInvalid", f"Invalid value: {bad_value(value)}", detail)


def immutable(path: str, value: Any) -> Cause:
    return invalid(path, value, "field is immutable")


def type_invalid(path: str, value: Any, detail: str) -> Cause:
    return _cause(path, "FieldValueTypeInvalid", f"Invalid value: {bad_value(value)}", detail)


def duplicate(path: str, value: Any) -> Cause:
    return _cause(path, "FieldValueDuplicate", f"Duplicate value: {bad_value(value)}", "")


def not_found(path: str, value: Any) -> Cause:
    return _cause(path, "FieldValueNotFound", f"Not found: {bad_value(value)}", "")


def not_supported(path: str, value: Any, accepted: Iterable[Any]) -> Cause:
    """What is accepted is printed in the order given; Kubernetes sorts it."""
    words = [quote(word if isinstance(word, str) else _compact(word)) for word in accepted]
    detail = f"supported values: {', '.join(words)}" if words else ""
    return _cause(path, "FieldValueNotSupported", f"Unsupported value: {bad_value(value)}", detail)


def too_long(path: str, limit: int) -> Cause:
    return _cause(path, "FieldValueTooLong", "Too long", f"may not be more than {limit} bytes")


def too_many(path: str, actual: int, limit: int) -> Cause:
    return _cause(path, "FieldValueTooMany", f"Too many: {actual}", f"must have at most {limit} items")


def internal(path: str, detail: str) -> Cause:
    return _cause(path, "InternalError", "Internal error", detail)


def checked(path: str, value: str, rule: Callable[[str], list[str]]) -> list[Cause]:
    """What a rule, such as one of `builtin.names`, finds wrong with a value."""
    return [invalid(path, value, fault) for fault in rule(value)]


def named(path: str, value: str, rule: Callable[[str], list[str]]) -> list[Cause]:
    """The same for a value that must be there."""
    return checked(path, value, rule) if value else [required(path)]


def missing(path: str, obj: Object, keys: str) -> list[Cause]:
    """A fault for each of the keys, in a text with blanks between them, that `obj` lacks or has empty."""
    return [required(f"{path}.{key}") for key in keys.split() if not obj.get(key)]


def one_of(path: str, value: Any, accepted: Iterable[str]) -> list[Cause]:
    """A fault unless the value is one of those accepted; one that is absent is required."""
    if not value:
        return [required(path)]
    return [] if value in (accepted := list(accepted)) else [not_supported(path, value, accepted)]


def not_negative(path: str, value: int) -> list[Cause]:
    return [invalid(path, value, "must be greater than or equal to 0")] if value < 0 else []


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
