"""Removing a set of fields from an object."""

from typing import Any

from ingot.api.object import Object
from ingot.standalone.patch.fieldset import FieldSet
from ingot.standalone.patch.types import DEDUCED, ListType, MapType, Type


def remove(of: Type, obj: Object, gone: FieldSet) -> Object:
    """The object without the fields and items of `gone`; it shares with `obj` what stays as it is.

    A map or list of which nothing stays becomes null, for it is not itself in `gone`.
    """
    if of.map is None or not gone:
        return obj
    return _remove_fields(of.map, obj, gone) or {}


def _remove(of: Type, value: Any, gone: FieldSet) -> Any:
    """`gone` lists something below this value."""
    if type(value) is dict and of.map is not None:
        return None if of.map.atomic else _remove_fields(of.map, value, gone) or None
    if type(value) is list and of.list is not None:
        return None if of.list.atomic else _remove_items(of.list, value, gone) or None
    return value


def _remove_fields(of: MapType, value: Object, gone: FieldSet) -> Object:
    out: Object = {}
    for name, item in value.items():
        known = of.fields.get(name)
        step, inner = known if known is not None else ("f:" + name, of.element or DEDUCED)
        node = gone.get(step)
        if node is None:
            out[name] = item
        elif node and "." not in node:
            out[name] = _remove(inner, item, node)
    return out


def _remove_items(of: ListType, value: list[Any], gone: FieldSet) -> list[Any]:
    out: list[Any] = []
    for step, item in zip(of.steps(value), value, strict=True):
        node = gone.get(step)
        if node is None:
            out.append(item)
        elif node and "." not in node:
            out.append(_remove(of.element, item, node))
    return out
