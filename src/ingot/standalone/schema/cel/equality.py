"""CEL's equality, with Kubernetes' rules for lists that are sets or maps."""

from typing import Any

from ingot.standalone.schema.cel.names import escape
from ingot.standalone.schema.cel.values import MISSING, Opaque, Optional
from ingot.standalone.schema.cel.views import ListView, MapView, find, items_of, keys, view
from ingot.standalone.schema.pairs import map_key, same


def equal(one: Any, other: Any) -> bool:
    """CEL's equality: numbers by value whatever their type, and never an error for different types."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other
    if isinstance(one, list | ListView):
        return isinstance(other, list | ListView) and _equal_lists(one, other)
    if isinstance(one, dict | MapView):
        return isinstance(other, dict | MapView) and _equal_maps(one, other)
    if isinstance(one, Optional) and isinstance(other, Optional):
        if not (one.present and other.present):
            return one.present == other.present
        return equal(one.value, other.value)
    if isinstance(one, Opaque) and isinstance(other, Opaque):
        return same(one.value, other.value)
    return type(one) is type(other) and bool(one == other)


def _equal_lists(one: Any, other: Any) -> bool:
    if len(one) != len(other):
        return False
    if isinstance(one, ListView) and one.node.list_type in ("set", "map") and isinstance(other, ListView):
        return _equal_unordered(one, other)
    return all(equal(left, right) for left, right in zip(one, other, strict=True))


def _equal_unordered(one: ListView, other: ListView) -> bool:
    """Sets and maps among lists are equal in any order."""
    keys = one.node.map_keys
    if one.node.list_type == "set" or not keys:
        left, right = ({(type(item), str(item)) for item in each.items} for each in (one, other))
        return left == right
    known = {map_key(item, keys): item for item in one.items}
    schema = items_of(one.node)
    for item in other.items:
        identity = map_key(item, keys)
        if identity not in known or not equal(view(known[identity], schema), view(item, schema)):
            return False
    return True


def _equal_maps(one: Any, other: Any) -> bool:
    if len(one) != len(other):
        return False
    if isinstance(one, MapView) and isinstance(other, MapView):
        if not all(name in other.value for name in one.value):
            return False
        unseen = [name for name in one.value if one.find(escape(name) or name) is MISSING]
        if any(not same(one.value[name], other.value[name]) for name in unseen):
            return False
    return all((right := find(other, key)) is not MISSING and equal(find(one, key), right) for key in keys(one))
