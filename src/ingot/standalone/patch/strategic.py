"""Strategic merge patch: a merge patch that knows which lists are maps by a key, and that takes directives.

    $patch: replace | delete | merge        on a map, or on an item of a list
    $retainKeys: [a, b]                     all other keys of this map go
    $deleteFromPrimitiveList/finalizers     items that go from a list of scalars
    $setElementOrder/containers             the order that a list is to have

The schema's `x-kubernetes-patch-strategy` and `x-kubernetes-patch-merge-key` say what is merged and by which key.
"""

from typing import Any

from ingot.api.object import Object
from ingot.api.status import bad_request
from ingot.standalone.goprint import go_type, json_type, plain
from ingot.standalone.patch import strategic_lists
from ingot.standalone.patch.merge_patch import without_nulls
from ingot.standalone.patch.strategic_schema import Place, not_mergeable
from ingot.standalone.patch.typed import TypedSchema
from ingot.standalone.patch.values import copy

_DELETE_FROM = "$deleteFromPrimitiveList"
_ORDER = "$setElementOrder"
_RETAIN = "$retainKeys"


def apply(obj: Object, patch: Any, schema: TypedSchema) -> Object:
    """A new object: `obj` with `patch` merged into it.

    Raises ApiError: 400 for a malformed patch or directive, 422 or 500, as Kubernetes does, for one that does not fit.
    """
    if patch is None:
        patch = {}
    if type(patch) is not dict:
        kind = json_type(patch)
        raise bad_request(f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}")
    return merge_map(copy(obj), copy(patch), Place(schema.resolved))


def merge_map(base: Object, patch: Object, place: Place) -> Object:
    """Merges `patch` into `base`, both of which it may change, and returns the result."""
    if "$patch" in patch:
        return _directed(patch)
    _retain_keys(base, patch)
    for directive in [name for name in patch if name.startswith(_ORDER)]:
        _merge_ordered(base, patch, directive, place)
    for name, value in patch.items():
        if name.startswith(_DELETE_FROM):
            _delete_items(base, name, value, place)
        elif value is None:
            base.pop(name, None)
        elif type(base.get(name)) is type(value) is dict:
            inner = place.field(name)
            base[name] = value if inner.strategy == "replace" else merge_map(base[name], value, inner)
        elif type(base.get(name)) is type(value) is list:
            inner = place.field(name)
            base[name] = strategic_lists.merge(base[name], value, inner, merge_map)
        else:
            _set(base, name, value)
    return base


def _directed(patch: Object) -> Object:
    directive = patch["$patch"]
    if directive == "replace":
        return {name: value for name, value in patch.items() if name != "$patch"}
    if directive == "delete":
        return {}
    raise not_mergeable(f"unknown patch type: {plain(directive)} in map: {plain(patch)}")


def _set(base: Object, name: str, value: Any) -> None:
    """Sets a value that is new or of another kind: what it says of deletion has nothing to delete."""
    if type(value) is dict and "$patch" in value:
        base.pop(name, None)
    else:
        base[name] = strategic_lists.without_directives(without_nulls(value))


def _retain_keys(base: Object, patch: Object) -> None:
    """Removes from `base` all keys that the patch does not list as to be kept."""
    if _RETAIN not in patch:
        return
    retained = patch.pop(_RETAIN)
    if type(retained) is not list:
        raise bad_request("invalid patch format of retainKeys")
    kept = {name for name in retained if type(name) is str}
    for name, value in patch.items():
        if value is not None and not name.startswith((_DELETE_FROM, _ORDER)) and name not in kept:
            raise bad_request("invalid patch format of retainKeys")
    for name in [name for name in base if name not in kept]:
        del base[name]


def _named(directive: str, prefix: str, message: str) -> str:
    """The field that a directive such as `$setElementOrder/ports` is for."""
    found, slash, name = directive.partition("/")
    if found != prefix or not slash:
        raise bad_request(message)
    return name


def _delete_items(base: Object, directive: str, gone: Any, place: Place) -> None:
    name = _named(directive, _DELETE_FROM, "invalid patch format of primitive list")
    if gone is None:
        base.pop(name, None)
    elif type(gone) is list and type(base.get(name)) is list:
        place.field(name)
        base[name] = strategic_lists.delete(base[name], gone)


def _merge_ordered(base: Object, patch: Object, directive: str, place: Place) -> None:
    """Merges the list that an order is given for, and puts it in that order; the patch's part is then done with."""
    order = patch.pop(directive)
    name = _named(directive, _ORDER, "invalid patch format of setElementOrder list")
    for value in (order, base.get(name, []), patch.get(name, [])):
        if type(value) is not list:
            raise not_mergeable(f"expected a []interface {{}}, but received a {go_type(value)}")
    inner = place.field(name)
    if name in base or name in patch:
        base[name] = strategic_lists.merge_ordered(base.get(name), patch.pop(name, None), order, inner, merge_map)
