"""JSON merge patch (RFC 7386): maps are merged, null removes, everything else replaces."""

from typing import Any

from ingot.api.object import Object
from ingot.api.status import bad_request
from ingot.standalone.goprint import json_type
from ingot.standalone.patch.values import copy


def apply(obj: Object, patch: Any) -> Object:
    """A new object: `obj` with `patch` merged into it. Raises ApiError 400 for a patch that is not an object."""
    if patch is None:
        raise bad_request("Invalid JSON Patch")
    if type(patch) is not dict:
        kind = json_type(patch)
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
        )
    return _merged(obj, patch)


def _merged(base: Object, patch: Object) -> Object:
    out: Object = {name: copy(value) for name, value in base.items() if name not in patch}
    for name, value in patch.items():
        if value is None:
            continue
        before = base.get(name)
        if type(before) is dict and type(value) is dict:
            out[name] = _merged(before, value)
        elif type(before) is dict:
            out[name] = copy(value)
        else:
            out[name] = without_nulls(value)
    return out


def without_nulls(value: Any) -> Any:
    """A copy in which no map, at any depth and inside lists too, has a null; nulls that are items of lists stay."""
    if type(value) is dict:
        return {name: without_nulls(inner) for name, inner in value.items() if inner is not None}
    if type(value) is list:
        return [without_nulls(inner) for inner in value]
    return value
