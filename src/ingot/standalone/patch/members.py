"""The fields that a configuration mentions, as server-side apply takes them into a manager's set."""

from typing import Any

from ingot.api.object import Object
from ingot.standalone.patch.fieldset import FieldSet
from ingot.standalone.patch.types import DEDUCED, ListType, MapType, Type


def members(of: Type, obj: Object) -> FieldSet:
    """The set of all leaves, list items and map keys of an object. Raises TypedError when an item has no key.

    A struct is not in the set for being there; only for being empty or null.
    """
    if of.map is None:
        return {}
    return _map_members(of.map, obj)


def _map_members(of: MapType, value: Object) -> FieldSet:
    out: FieldSet = {}
    for name, item in value.items():
        known = of.fields.get(name)
        if known is not None:
            step, inner = known
            node = _node(inner, item, item is None or item == {})
        else:
            step = "f:" + name
            node = _node(of.element or DEDUCED, item, True)
        if node is not None:
            out[step] = node
    return out


def _node(of: Type, value: Any, member: bool) -> FieldSet | None:
    """The node of a value, None if there is nothing to say. `member`: the place itself is in the set."""
    if of.leaf:
        return {}
    inner: FieldSet
    if type(value) is dict and of.map is not None:
        if of.map.atomic:
            return {}
        inner = _map_members(of.map, value)
    elif type(value) is list and of.list is not None:
        if of.list.atomic:
            return {}
        inner = _list_members(of.list, value)
    elif value is None:
        inner = {}
    else:
        return {}
    if not inner:
        return {} if member else None
    return {".": {}, **inner} if member else inner


def _list_members(of: ListType, value: list[Any]) -> FieldSet:
    out: FieldSet = {}
    for step, item in zip(of.steps(value), value, strict=True):
        # Items with one key are owned as a whole, for their fields cannot be told apart.
        out[step] = {} if step in out else _node(of.element, item, True)
    return out
