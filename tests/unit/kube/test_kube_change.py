from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kube_faults import FaultServer, answer

from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.status import ApiError
from ingot.kube.change import Outcome, create_or_patch, json_patch, merge_patch, patch_status
from ingot.kube.client import Client
from ingot.kube.objects import copy_of

THINGS = Resource("", "v1", "things", "Thing")

scalars = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, 1.5, "", "a", "/", "~1"])
keys = st.sampled_from(["a", "b", "/", "~", "a/b", "-", "0"])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(keys, values, max_size=3)


def apply_operation(document: Any, operation: Object) -> Any:
    """RFC 6902, as far as `json_patch` makes use of it."""
    if not operation["path"]:
        return operation["value"]
    *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"][1:].split("/")]
    target = document
    for part in parents:
        target = target[int(part) if isinstance(target, list) else part]
    if isinstance(target, list):
        if operation["op"] == "add":
            assert last == "-"
            target.append(operation["value"])
        elif operation["op"] == "remove":
            del target[int(last)]
        else:
            target[int(last)] = operation["value"]
    elif operation["op"] == "remove":
        del target[last]
    else:
        assert (operation["op"] == "add") == (last not in target)
        target[last] = operation["value"]
    return document


def apply_merge(target: Any, patch: Any) -> Any:
    """RFC 7386, word for word."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = apply_merge(result.get(key), value)
    return result


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return value


@given(values, values)
def test_a_json_patch_makes_the_one_of_the_other(old: Any, new: Any) -> None:
    operations = json_patch(old, new)
    document = copy_of({"it": old})["it"]
    for operation in copy_of({"all": operations})["all"]:
        document = apply_operation(document, operation)
    assert repr(document) == repr(new) or sorted_repr(document) == sorted_repr(new)
    assert json_patch(document, new) == []


def sorted_repr(value: Any) -> str:
    """Equal only for equal JSON, whatever the order of keys: unlike ==, which takes True for 1."""
    if isinstance(value, dict):
        return repr(sorted((key, sorted_repr(inner)) for key, inner in value.items()))
    return repr([sorted_repr(inner) for inner in value]) if isinstance(value, list) else repr(value)


@given(objects, objects)
def test_a_merge_patch_makes_the_one_of_the_other(old: Object, new: Object) -> None:
    old, new = without_nulls(old), without_nulls(new)
    assert sorted_repr(apply_merge(old, merge_patch(old, new))) == sorted_repr(new)
    assert merge_patch(new, new) == {}


def test_small_changes_are_small_patches() -> None:
    old = {"a": {"b/c": [1, 2, 3]}, "gone": 1}
    new = {"a": {"b/c": [1, 5]}, "new": None}
    assert json_patch(old, new) == [
        {"op": "remove", "path": "/gone"},
        {"op": "replace", "path": "/a/b~1c/1", "value": 5},
        {"op": "remove", "path": "/a/b~1c/2"},
        {"op": "add", "path": "/new", "value": None},
    ]
    assert json_patch({"x": 1}, {"x": True}) == [{"op": "replace", "path": "/x", "value": True}]


LIVE: Object = {"metadata": {"name": "a", "namespace": "n", "resourceVersion": "7"}, "data": {"x": "1"}}
MISSING: Object = {"kind": "Status", "code": 404, "reason": "NotFound", "message": "no"}


def colour(obj: Object) -> None:
    obj.setdefault("data", {})["colour"] = "red"


async def body_of(server: FaultServer, index: int) -> Any:
    return await server.requests[index].json()


async def test_what_is_missing_is_created(server: FaultServer, client: Client) -> None:
    server.script(answer(MISSING, 404), answer({"made": True}))
    seed = {"metadata": {"name": "a", "namespace": "n"}}
    assert await create_or_patch(client, THINGS, seed, colour, "me") == ({"made": True}, Outcome.CREATED)
    assert server.requests[1].method == "POST"
    assert server.requests[1].query["fieldManager"] == "me"
    assert await body_of(server, 1) == seed | {"data": {"colour": "red"}}
    assert "data" not in seed


async def test_what_differs_is_patched_if_it_is_still_the_same(server: FaultServer, client: Client) -> None:
    server.script(answer(LIVE), answer({"patched": True}))
    assert await create_or_patch(client, THINGS, LIVE, colour) == ({"patched": True}, Outcome.UPDATED)
    assert server.requests[1].method == "PATCH"
    assert await body_of(server, 1) == {"metadata": {"resourceVersion": "7"}, "data": {"colour": "red"}}


async def test_what_is_right_is_left_alone(server: FaultServer, client: Client) -> None:
    server.script(answer(LIVE | {"data": {"colour": "red"}}))
    _, outcome = await create_or_patch(client, THINGS, LIVE, colour)
    assert outcome is Outcome.UNCHANGED
    assert len(server.requests) == 1


async def test_other_refusals_are_passed_on(server: FaultServer, client: Client) -> None:
    server.script(answer({"kind": "Status", "code": 403, "reason": "Forbidden"}, 403))
    with pytest.raises(ApiError) as error:
        await create_or_patch(client, THINGS, LIVE, colour)
    assert error.value.code == 403


async def test_a_status_is_sent_only_if_it_changed(server: FaultServer, client: Client) -> None:
    assert await patch_status(client, THINGS, LIVE, LIVE | {"data": {}}) is LIVE
    server.script(answer({}))
    await patch_status(client, THINGS, LIVE | {"status": {"a": 1, "b": 2}}, LIVE | {"status": {"a": 1, "b": 3}})
    assert server.requests[0].path == "/api/v1/namespaces/n/things/a/status"
    assert await body_of(server, 0) == {"metadata": {"resourceVersion": "7"}, "status": {"b": 3}}
