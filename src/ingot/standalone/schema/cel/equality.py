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
    if isinstance(one, ListView) and one.node.list_type == "set":
        return _equal_sets(one, other)
    if isinstance(one, ListView) and isinstance(other, ListView) and one.node.list_type == "map":
        return _equal_by_keys(one, other)
    return all(equal(left, right) for left, right in zip(one, other, strict=True))


def _equal_sets(one: Any, other: Any) -> bool:
    """Sets among lists are equal in any order, whatever they are compared with."""
    if any(isinstance(item, list | dict | ListView | MapView) for item in (*one, *other)):
        return all(any(equal(item, own) for own in one) for item in other)
    known = {(type(item), item) for item in one}
    return all((type(item), item) in known for item in other)


def _equal_by_keys(one: ListView, other: ListView) -> bool:
    """Maps among lists are equal in any order, as sets are."""
    keys = one.node.map_keys
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
