"""What an object must hold where its scale subresource looks for numbers."""

from typing import Any

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.goprint import go_type, is_int64, plain
from ingot.standalone.resources.definition import Scale

_INT32_MAX = 2**31 - 1


class _AccessError(ValueError):
    """A value stands where a number, a text or a way to one was looked for."""

    def __init__(self, names: list[str], value: Any, wanted: str) -> None:
        path = ".".join(names)
        super().__init__(f".{path} accessor error: {plain(value)} is of the type {go_type(value)}, expected {wanted}")


def scale_causes(obj: Object, scale: Scale) -> list[Cause]:
    """Replicas must be integers of 32 bits and not negative, the selector a text; all of them may be absent."""
    causes = _replicas(obj, scale.spec_replicas) + _replicas(obj, scale.status_replicas)
    if scale.label_selector:
        try:
            _find(obj, scale.label_selector, "string")
        except _AccessError as error:
            causes.append(fields.invalid(scale.label_selector, "", str(error)))
    return causes


def _replicas(obj: Object, path: str) -> list[Cause]:
    try:
        found = _find(obj, path, "int64") or 0
    except _AccessError as error:
        return [fields.invalid(path, 0, str(error))]
    if found < 0:
        return [fields.invalid(path, found, "should be a non-negative integer")]
    if found > _INT32_MAX:
        return [fields.invalid(path, found, f"should be less than or equal to {_INT32_MAX}")]
    return []


def _find(obj: Object, path: str, wanted: str) -> Any:
    """The value at a path, None if it is absent. Raises _AccessError for one of another Go type than wanted."""
    value: Any = obj
    names = path.removeprefix(".").split(".")
    for position, name in enumerate(names):
        if value is None:
            return None
        if not isinstance(value, dict):
            raise _AccessError(names[: position + 1], value, "map[string]interface{}")
        if name not in value:
            return None
        value = value[name]
    if not (is_int64(value) if wanted == "int64" else isinstance(value, str)):
        raise _AccessError(names, value, wanted)
    return value
