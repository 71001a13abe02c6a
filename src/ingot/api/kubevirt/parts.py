"""Reading parts of objects that no schema has checked yet: what is not as expected is as if it were not there."""

from typing import Any

from ingot.api.object import Object


def as_object(value: Any) -> Object:
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[Object]:
    """The objects of a list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
