"""One step of a field path, in the spelling of `fieldsV1`.

    f:name              the field of a struct, or the key of a map
    k:{"name":"web"}    the item of a list whose key fields have these values
    v:"blue"            the item of a set
    i:3                 the item at an index

A step is a string in its one canonical spelling, so that two steps are the same step exactly when they are equal.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from ingot.standalone.goprint import plain, quote
from ingot.standalone.patch.values import to_json


def keyed(pairs: Sequence[tuple[str, Any]]) -> str:
    """The step to a list's item. `pairs` are its key fields and their values, sorted by name."""
    return "k:{" + ",".join(f"{to_json(name)}:{to_json(value)}" for name, value in pairs) + "}"


def valued(value: Any) -> str:
    """The step to a set's item."""
    return "v:" + to_json(value)


def canonical(step: str) -> str | None:
    """The canonical spelling of a step from outside; None for a kind of step that only a later version knows.

    Raises ValueError for one that is malformed.
    """
    if len(step) < 2:
        raise ValueError("key must be 2 characters long:")
    if step[1] != ":":
        raise ValueError(f"missing colon: {step}")
    kind, text = step[0], step[2:]
    if kind == "f":
        return step
    if kind == "k":
        fields = msgspec.json.decode(text, type=dict[str, Any])
        return keyed(sorted(fields.items()))
    if kind == "v":
        return valued(msgspec.json.decode(text))
    if kind == "i":
        return f"i:{int(text)}"
    return None


def text(step: str) -> str:
    """The step as messages show it: `.name`, `[name="web"]`, `[="blue"]`, `[3]`."""
    kind, rest = step[0], step[2:]
    if kind == "f":
        return "." + rest
    if kind == "k":
        fields = msgspec.json.decode(rest, type=dict[str, Any])
        return "[" + ",".join(f"{name}={_shown(value)}" for name, value in fields.items()) + "]"
    if kind == "v":
        return f"[={_shown(msgspec.json.decode(rest))}]"
    return f"[{rest}]"


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    return quote(value) if type(value) is str else plain(value)


def order(step: str) -> tuple[Any, ...]:
    """A sort key: fields by name, then keys, values and indices."""
    kind, rest = step[0], step[2:]
    if kind == "f":
        return (0, rest)
    if kind == "k":
        fields = msgspec.json.decode(rest, type=dict[str, Any])
        return (1, tuple((name, *_rank(value)) for name, value in fields.items()))
    if kind == "v":
        return (2, *_rank(msgspec.json.decode(rest)))
    return (3, int(rest))


def _rank(value: Any) -> tuple[int, Any]:
    """Values of one type compare among themselves; the types come in this order."""
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, int | float):
        return (0, value)
    if isinstance(value, str):
        return (1, value)
    return (3, to_json(value))
