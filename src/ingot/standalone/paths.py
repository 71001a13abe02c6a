"""Paths of fields in objects."""

from typing import Any

from ingot.api.object import Object


def nested(obj: Object, *path: str) -> Any:
    """What lies at a path of fields; None where one of them is absent."""
    value: Any = obj
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value
