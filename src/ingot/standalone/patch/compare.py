"""Which fields an object gained, changed or lost, as sets of paths."""

from typing import Any, NamedTuple

from ingot.api.object import Object
from ingot.standalone.patch.fieldset import FieldSet, recursive_difference
from ingot.standalone.patch.types import DEDUCED, ListType, MapType, Type
from ingot.standalone.patch.values import MISSING, same


class Comparison(NamedTuple):
    """`changed` are the paths that are new or have a new value; `removed` those that are gone."""

    changed: FieldSet
    removed: FieldSet

    def outside(self, excluded: FieldSet) -> "Comparison":
        """The comparison without these paths and all below them."""
        if not excluded:
            return self
        return Comparison(recursive_difference(self.changed, excluded), recursive_difference(self.removed, excluded))


def compare(of: Type, old: Object, new: Object) -> Comparison:
    """Compares two objects of one type. Raises TypedError when an item of a list has no key."""
    changed: FieldSet = {}
    removed: FieldSet = {}
    if of.map is not None:
        _compare_maps(of.map, old, new, changed, removed)
    return Comparison(changed, removed)


def whole(of: Type, value: Any) -> FieldSet:
    """The node of a value that is there in one object only: the value and everything in it."""
    if of.leaf or not value:
        return {}
    if type(value) is dict:
        return _whole_map(of.map, value) if of.map is not None else {}
    if type(value) is list:
        return _whole_list(of.list, value) if of.list is not None else {}
    return {}


def _whole_map(of: MapType, value: Object) -> FieldSet:
    if of.atomic:
        return {}
    out: FieldSet = {".": {}}
    fields, element = of.fields, of.element or DEDUCED
    for name, item in value.items():
        known = fields.get(name)
        if known is not None:
            out[known[0]] = {} if known[1].leaf else whole(known[1], item)
        else:
            out["f:" + name] = {} if element.leaf else whole(element, item)
    return out


def _whole_list(of: ListType, value: list[Any]) -> FieldSet:
    if of.atomic:
        return {}
    out: FieldSet = {".": {}}
    for step, item in zip(of.steps(value), value, strict=True):
        # Items with one key are owned as a whole, for their fields cannot be told apart.
        out[step] = {} if step in out else whole(of.element, item)
    return out


def _compare_maps(of: MapType, old: Object, new: Object, changed: FieldSet, removed: FieldSet) -> None:
    fields, other = of.fields, of.element or DEDUCED
    for name, item in new.items():
        step, inner = fields.get(name) or ("f:" + name, other)
        before = old.get(name, MISSING)
        if before is MISSING:
            changed[step] = {} if inner.leaf else whole(inner, item)
        elif not equal(inner, before, item):
            _compare_items(inner, step, before, item, changed, removed)
    for name, item in old.items():
        if name not in new:
            step, inner = fields.get(name) or ("f:" + name, other)
            removed[step] = whole(inner, item)


def equal(of: Type, old: Any, new: Any) -> bool:
    """Whether two values of one type are the same value."""
    return old is new or (old == new and (not of.loose or same(old, new)))


def _compare_items(of: Type, step: str, old: Any, new: Any, changed: FieldSet, removed: FieldSet) -> None:
    """Compares two unequal values at one step, null being the empty form of whatever the other one is."""
    if of.leaf:
        changed[step] = {}
        return
    inner_changed: FieldSet = {}
    inner_removed: FieldSet = {}
    if _are(dict, old, new) and of.map is not None and not of.map.atomic:
        _compare_maps(of.map, old or {}, new or {}, inner_changed, inner_removed)
    elif _are(list, old, new) and of.list is not None and not of.list.atomic:
        _compare_lists(of.list, old or [], new or [], inner_changed, inner_removed)
    else:
        # The value turned from one form into another: it changed itself, and with it all that it held and holds.
        inner_changed = {**whole(of, new), ".": {}}
        inner_removed = {below: node for below, node in whole(of, old).items() if below != "."}
        if len(inner_changed) == 1:
            inner_changed = {}
        changed[step] = inner_changed
        if inner_removed:
            removed[step] = inner_removed
        return
    if inner_changed:
        changed[step] = inner_changed
    if inner_removed:
        removed[step] = inner_removed


def _are(kind: type, old: Any, new: Any) -> bool:
    """Whether both are of this kind, or one is and the other null; two empty ones are compared as leaves."""
    if not old and not new:
        return False
    return (old is None or type(old) is kind) and (new is None or type(new) is kind)


def _compare_lists(of: ListType, old: list[Any], new: list[Any], changed: FieldSet, removed: FieldSet) -> None:
    before = _by_step(of, old)
    after = _by_step(of, new)
    inner = of.element
    for step, items in after.items():
        earlier = before.get(step)
        if earlier is None:
            changed[step] = whole(inner, items[0]) if len(items) == 1 else {}
        elif len(items) == 1 and len(earlier) == 1:
            if not equal(inner, earlier[0], items[0]):
                _compare_items(inner, step, earlier[0], items[0], changed, removed)
        elif len(items) == 1:
            changed[step] = whole(inner, items[0])
            removed[step] = {}
        elif len(earlier) == 1:
            removed[step] = whole(inner, earlier[0])
            changed[step] = {}
        elif len(items) != len(earlier) or not all(map(same, earlier, items)):
            changed[step] = {}
    for step, items in before.items():
        if step not in after:
            removed[step] = whole(inner, items[0]) if len(items) == 1 else {}


def _by_step(of: ListType, items: list[Any]) -> dict[str, list[Any]]:
    out: dict[str, list[Any]] = {}
    for step, item in zip(of.steps(items), items, strict=True):
        out.setdefault(step, []).append(item)
    return out
