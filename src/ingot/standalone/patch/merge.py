"""Merging a partial object into a whole one by their type: nothing is removed, and the partial one's leaves win."""

from typing import Any

from ingot.api.object import Object
from ingot.standalone.patch.types import DEDUCED, ListType, MapType, Type
from ingot.standalone.patch.values import copy


def merge(of: Type, base: Object, partial: Object) -> Object:
    """A new object with all of `base` and `partial`. Raises TypedError when an item of a list has no key.

    Null and empty containers in `partial` leave what `base` holds there, as they remove nothing.
    """
    merged: Object = _merge(of, base, partial)
    return merged


def _merge(of: Type, base: Any, partial: Any) -> Any:
    if of.leaf or base is None:
        return copy(partial)
    if type(base) is dict and (partial is None or type(partial) is dict) and of.map is not None:
        if of.map.atomic or (not base and not partial):
            return copy(partial)
        return _merge_maps(of.map, base, partial or {})
    if type(base) is list and (partial is None or type(partial) is list) and of.list is not None:
        if of.list.atomic or (not base and not partial):
            return copy(partial)
        return _merge_lists(of.list, base, partial or [])
    return copy(partial)


def _merge_maps(of: MapType, base: Object, partial: Object) -> Object:
    out: Object = {name: copy(item) for name, item in base.items() if name not in partial}
    for name, item in partial.items():
        if name in base:
            known = of.fields.get(name)
            out[name] = _merge(known[1] if known is not None else of.element or DEDUCED, base[name], item)
        else:
            out[name] = copy(item)
    return out


def _merge_lists(of: ListType, base: list[Any], partial: list[Any]) -> list[Any]:
    """The items of both, each once, in an order that keeps that of `partial` and, where it can, that of `base`."""
    base_steps, partial_steps = of.steps(base), of.steps(partial)
    theirs = dict(zip(partial_steps, partial, strict=True))
    ours: dict[str, Any] = {}
    for step, item in zip(base_steps, base, strict=True):
        # Which of several items with one key to merge with cannot be told: with none.
        ours[step] = item if step not in ours else None
    placed: set[str] = set()
    out: list[Any] = []

    def place(step: str) -> None:
        placed.add(step)
        out.append(_merge(of.element, ours[step], theirs[step]) if step in ours else copy(theirs[step]))

    shared = [step for step in partial_steps if step in ours]
    left = right = turn = 0
    while left < len(base_steps) or right < len(partial_steps):
        step = base_steps[left] if left < len(base_steps) else ""
        wanted = partial_steps[right] if right < len(partial_steps) else ""
        if step and step not in theirs:
            out.append(copy(base[left]))
            left += 1
            continue
        if step and step != wanted and wanted and turn < len(shared) and shared[turn] != step:
            # A shared item whose turn among the partial's items has not come.
            left += 1
            continue
        if step and (step == wanted or step in placed):
            left += 1
        if wanted:
            place(wanted)
            right += 1
            turn += turn < len(shared) and shared[turn] == wanted
    return out
