"""Kubernetes' field errors: where, what kind of fault, and the words that kube-apiserver uses for it.

A path is the text that the wire carries (`spec.disks[0].name`); the empty path is the object itself, which
kube-apiserver prints as `<nil>`.
"""

import json
from collections.abc import Iterable
from typing import Any

from ingot.api.status import Cause
from ingot.standalone.schema.goprint import bad_value, quote


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


def invalid_as(path: str, shown: str, detail: str) -> Cause:
    """An invalid value whose printed form the caller knows, such as a Go slice of strings."""
    return _cause(path, "FieldValueInvalid", f"Invalid value: {shown}", detail)


def type_invalid(path: str, value: Any, detail: str) -> Cause:
    return _cause(path, "FieldValueTypeInvalid", f"Invalid value: {bad_value(value)}", detail)


def duplicate(path: str, value: Any) -> Cause:
    return _cause(path, "FieldValueDuplicate", f"Duplicate value: {bad_value(value)}", "")


def not_supported(path: str, value: Any, accepted: Iterable[Any]) -> Cause:
    words = [quote(word if isinstance(word, str) else _compact(word)) for word in accepted]
    detail = f"supported values: {', '.join(words)}" if words else ""
    return _cause(path, "FieldValueNotSupported", f"Unsupported value: {bad_value(value)}", detail)


def too_long(path: str, limit: int) -> Cause:
    return _cause(path, "FieldValueTooLong", "Too long", f"may not be more than {limit} bytes")


def too_many(path: str, actual: int, limit: int) -> Cause:
    return _cause(path, "FieldValueTooMany", f"Too many: {actual}", f"must have at most {limit} items")


def internal(path: str, detail: str) -> Cause:
    return _cause(path, "InternalError", "Internal error", detail)


def strings(values: Iterable[str]) -> str:
    """A list of strings as Go prints it in an invalid value."""
    listed = [quote(value) for value in values]
    return f"[]string{{{', '.join(listed)}}}" if listed else "[]string(nil)"


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
