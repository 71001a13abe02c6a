"""Lists in a strategic merge patch: merged by key or as sets, and put in order."""

from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, TypeAlias

from ingot.api.object import Object
from ingot.api.status import ApiError
from ingot.standalone.goprint import go_type, plain
from ingot.standalone.patch.strategic_schema import Place, not_mergeable
from ingot.standalone.patch.values import identity, same

MergeMap: TypeAlias = Callable[[Object, Object, Place], Object]

# Where in a list the items with an identity are, the first of them first.
_Places: TypeAlias = dict[Hashable, deque[int]]


def merge(base: list[Any], patch: list[Any], place: Place, merge_map: MergeMap) -> list[Any]:
    """The list that the patch makes of `base`: the patch itself unless the schema says that it is to be merged."""
    if place.strategy != "merge":
        return patch
    if not base and not patch:
        return base
    if not _are_maps(base, patch):
        return _ordered(_united(base, patch), patch, base, "")
    base, patch = _special_items(base, patch, place)
    return _ordered(_merge_items(base, patch, place, merge_map), patch, base, place.key)


def merge_ordered(
    base: list[Any] | None, patch: list[Any] | None, order: list[Any], place: Place, merge_map: MergeMap
) -> list[Any]:
    """The list that the patch makes of `base`, in the given order; what the order does not name keeps its place."""
    _check_order(patch or [], order, place.key)
    live = base or []
    maps = _are_maps(live, patch or [])
    if patch is None:
        merged = live
    elif base is None:
        merged = without_directives(patch)
    elif place.strategy == "merge" and maps:
        left, items = _special_items(base, patch, place)
        merged = _merge_items(left, items, place, merge_map)
        # The place of an item that went counts as that of the item added after it, as Kubernetes has it.
        live = merged[: len(base)] if items else base
    else:
        merged = merge(base, patch, place, merge_map)
    return _ordered(merged, order, live, place.key)


def delete(base: list[Any], gone: list[Any]) -> list[Any]:
    """The list without these scalars."""
    named = set(map(identity, gone))
    return [item for item in base if identity(item) not in named]


def without_directives(value: Any) -> Any:
    """The value without the maps that carry a directive, at any depth."""
    if type(value) is dict:
        kept = {name: inner for name, inner in value.items() if not _is_directed(inner)}
        return {name: without_directives(inner) for name, inner in kept.items()}
    if type(value) is list:
        return [without_directives(item) for item in value if not _is_directed(item)]
    return value


def _is_directed(value: Any) -> bool:
    return type(value) is dict and "$patch" in value


def _are_maps(*lists: list[Any]) -> bool:
    """Whether the items of these lists are maps; they must all be of one kind, and not lists."""
    items = [item for each in lists for item in each]
    if not items:
        raise not_mergeable("no elements in any of the given slices")
    kinds = {go_type(item) for item in items}
    if type(items[0]) is list:
        raise ApiError(422, "Invalid", "the server rejected our request due to an error in our request", {})
    if len(kinds) > 1:
        raise not_mergeable(f"list element types are not identical: {plain(list(lists))}")
    return type(items[0]) is dict


def _united(base: list[Any], patch: list[Any]) -> list[Any]:
    out: dict[Hashable, Any] = {}
    for item in [*base, *patch]:
        out.setdefault(identity(item), item)
    return list(out.values())


def _special_items(base: list[Any], patch: list[Any], place: Place) -> tuple[list[Any], list[Any]]:
    """Carries out the items that are directives; returns what is left of both lists."""
    items: list[Any] = []
    gone: set[Hashable] = set()
    replace = False
    for item in patch:
        if "$patch" not in item:
            items.append(item)
            continue
        directive = item["$patch"]
        if directive == "delete":
            gone.add(identity(_key_of(item, place.key)))
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise not_mergeable("merging lists cannot yet be specified in the patch")
        else:
            raise not_mergeable(f"unknown patch type: {plain(directive)} in map: {plain(item)}")
    if replace:
        return items, []
    if gone:
        base = [item for item in base if not _has_key(item, place.key) or identity(item[place.key]) not in gone]
    return base, items


def _merge_items(base: list[Any], patch: list[Any], place: Place, merge_map: MergeMap) -> list[Any]:
    if not place.key:
        raise not_mergeable("cannot merge lists without merge key for struct")
    out = list(base)
    places = _places(out, place.key)
    for item in patch:
        found = places.setdefault(identity(_key_of(item, place.key)), deque())
        if not found:
            found.append(len(out))
            out.append(item)
            continue
        merged = out[found[0]] = merge_map(out[found[0]], item, place.item())
        if not _has_key(merged, place.key):
            # A key that is null takes itself away.
            found.popleft()
    return out


def _key_of(item: Any, key: str) -> Any:
    """What identifies an item: the value of its key, or itself in a list of scalars."""
    if not key:
        return item
    if type(item) is not dict:
        raise not_mergeable(f"expected a map[string]interface {{}}, but received a {go_type(item)}")
    if key not in item:
        raise not_mergeable(f"map: {plain(item)} does not contain declared merge key: {key}")
    return item[key]


def _has_key(item: Any, key: str) -> bool:
    return type(item) is dict and key in item


def _places(items: list[Any], key: str) -> _Places:
    """Where the items are that a key, or in a list of scalars they themselves, identify."""
    out: _Places = {}
    for index, item in enumerate(items):
        if not key or _has_key(item, key):
            out.setdefault(identity(item[key] if key else item), deque()).append(index)
    return out


def _first(places: _Places, item: Any, key: str) -> int:
    """The index of the first item that is identified as this one is, -1 when there is none."""
    found = places.get(identity(_key_of(item, key)))
    return found[0] if found else -1


def _check_order(patch: list[Any], order: list[Any], key: str) -> None:
    """The patch's items must be named by the order, in that order.

    Items that delete are passed over; other directives only where a plain item follows, as Kubernetes has it.
    """
    if not patch or not order:
        return
    wanted = [item for item in patch if not _is_directed(item) or item["$patch"] != "delete"]
    at = 0
    for named in order:
        while at < len(wanted) and _is_directed(wanted[at]):
            at += 1
        if at < len(wanted) and same(_key_of(wanted[at], key), _key_of(named, key)):
            at += 1
    if at < len(wanted):
        raise not_mergeable(
            f"The order in patch list:\n{plain(patch)}\n doesn't match $setElementOrder list:\n{plain(order)}\n"
        )


def _ordered(items: list[Any], order: list[Any], base: list[Any], key: str) -> list[Any]:
    """The items that `order` names in its order, the others in that of `base` and, where that tells, among them."""
    ordered, based = _places(order, key), _places(base, key)
    wanted = [_first(ordered, item, key) for item in items]
    before = [_first(based, item, key) for item in items]
    second = deque(sorted((at, n) for n, at in enumerate(wanted) if at >= 0))
    first = deque(sorted((before[n], n) for n, at in enumerate(wanted) if at < 0))
    out: list[Any] = []
    while first and second:
        ours, theirs = before[first[0][1]], before[second[0][1]]
        out.append(items[(first if 0 <= ours < theirs else second).popleft()[1]])
    return out + [items[n] for _, n in (*first, *second)]
