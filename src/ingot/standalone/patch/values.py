"""JSON values: copies, equality that tells true from 1, and the text and the names that Go has for them."""

from collections.abc import Hashable
from typing import Any, Final

import msgspec


class Missing:
    """The absence of a value, where null is a value like any other."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()


def copy(value: Any) -> Any:
    """A copy that shares no container with `value`."""
    if type(value) is dict:
        return {name: copy(item) if type(item) in (dict, list) else item for name, item in value.items()}
    if type(value) is list:
        return [copy(item) if type(item) in (dict, list) else item for item in value]
    return value


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal. Unlike ==, a boolean never equals a number, at any depth."""
    if type(left) is dict:
        if type(right) is not dict or len(left) != len(right):
            return False
        return all(name in right and same(item, right[name]) for name, item in left.items())
    if type(left) is list:
        if type(right) is not list or len(left) != len(right):
            return False
        return all(map(same, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)


def identity(value: Any) -> Hashable:
    """A key for dictionaries: two values have the same one exactly when they are the `same`."""
    if type(value) is str or value is None:
        return value
    if type(value) is dict:
        return dict, frozenset((name, identity(item)) for name, item in value.items())
    if type(value) is list:
        return list, tuple(map(identity, value))
    return type(value) is bool, value


def to_json(value: Any) -> str:
    """The JSON text of a scalar as Go writes it: HTML's special characters escaped."""
    text = msgspec.json.encode(value).decode()
    if type(value) is str:
        return escaped(text)
    if type(value) is float and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return text


def escaped(json: str) -> str:
    """JSON text with HTML's special characters escaped, which can only stand in strings."""
    if "<" in json or ">" in json or "&" in json:
        return json.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return json
