import copy

import pytest

from ingot.api.status import ApiError
from ingot.standalone.patch import json_patch

BASE = {"map": {"a": 1, "x/y": 2, "m~n": 3}, "list": ["a", "b"], "null": None, "flag": True}


@pytest.mark.parametrize(
    ("operations", "place", "expected"),
    [
        ([{"op": "add", "path": "/map/b", "value": 9}], "map", {**BASE["map"], "b": 9}),
        ([{"op": "add", "path": "/map/b"}], "map", {**BASE["map"], "b": None}),
        ([{"op": "add", "path": "/list/1", "value": "x"}], "list", ["a", "x", "b"]),
        ([{"op": "add", "path": "/list/2", "value": "x"}], "list", ["a", "b", "x"]),
        ([{"op": "add", "path": "/list/-", "value": "x"}], "list", ["a", "b", "x"]),
        ([{"op": "add", "path": "/list/-1", "value": "x"}], "list", ["a", "b", "x"]),
        ([{"op": "add", "path": "/list/-3", "value": "x"}], "list", ["x", "a", "b"]),
        ([{"op": "remove", "path": "/map/x~1y"}], "map", {"a": 1, "m~n": 3}),
        ([{"op": "remove", "path": "/map/m~0n"}], "map", {"a": 1, "x/y": 2}),
        ([{"op": "remove", "path": "/list/-2"}], "list", ["b"]),
        ([{"op": "replace", "path": "/list/0", "value": "x"}], "list", ["x", "b"]),
        ([{"op": "replace", "path": "/map/missing", "value": 1}], "map", {**BASE["map"], "missing": 1}),
        ([{"op": "move", "from": "/list/0", "path": "/list/1"}], "list", ["b", "a"]),
        ([{"op": "move", "from": "/map/a", "path": "/map/b"}], "map", {"x/y": 2, "m~n": 3, "b": 1}),
        ([{"op": "copy", "from": "/list", "path": "/map/a"}], "map", {**BASE["map"], "a": ["a", "b"]}),
        ([{"op": "copy", "from": "/map/missing", "path": "/map/b"}], "map", {**BASE["map"], "b": None}),
        ([{"op": "test", "path": "/map/missing", "value": None}], "map", BASE["map"]),
        ([{"op": "test", "path": "/list", "value": ["a", "b"]}], "list", ["a", "b"]),
        ([{"op": "test", "path": "", "value": BASE}], "list", ["a", "b"]),
        ([{"op": "replace", "path": "", "value": {"list": []}}], "list", []),
        ([{"op": "replace", "path": "", "value": "scalar"}], "list", ["a", "b"]),
        ([], "list", ["a", "b"]),
        (None, "list", ["a", "b"]),
    ],
)
def test_operations(operations, place, expected):
    base = copy.deepcopy(BASE)
    assert json_patch.apply(base, operations)[place] == expected
    assert base == BASE


def test_values_of_the_patch_are_not_shared_with_the_result():
    operations = [{"op": "add", "path": "/new", "value": {}}, {"op": "add", "path": "/new/a", "value": 1}]
    assert json_patch.apply({}, operations) == {"new": {"a": 1}}
    assert operations[0]["value"] == {}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/map/missing"},
        {"op": "remove", "path": "/list/2"},
        {"op": "remove", "path": "/list/x"},
        {"op": "add", "path": "/list/4", "value": 1},
        {"op": "add", "path": "/missing/a", "value": 1},
        {"op": "add", "path": "/flag/a", "value": 1},
        {"op": "add", "path": "", "value": {}},
        {"op": "add", "path": "map", "value": {}},
        {"op": "replace", "path": "/list/2", "value": 1},
        {"op": "move", "from": "/map/missing", "path": "/map/b"},
        {"op": "move", "path": "/map/b"},
        {"op": "test", "path": "/map/a", "value": 2},
        {"op": "test", "path": "/flag", "value": 1},
        {"op": "test", "path": "/list/9", "value": None},
        {"op": "nonsense", "path": "/map/a"},
        {"path": "/map/a"},
        {"op": "remove"},
        None,
    ],
)
def test_an_operation_that_does_not_apply_refuses_all(operation):
    with pytest.raises(ApiError) as caught:
        json_patch.apply(BASE, [{"op": "remove", "path": "/null"}, operation])
    error = caught.value
    assert (error.code, error.reason, error.details) == (422, "Invalid", {})
    assert error.message == "the server rejected our request due to an error in our request"
    assert "null" in BASE


@pytest.mark.parametrize(
    ("operations", "message"),
    [
        ({}, "cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        ("x", "cannot unmarshal string into Go value of type []handlers.jsonPatchOp"),
        (["x"], "cannot unmarshal string into Go value of type handlers.jsonPatchOp"),
        ([{"op": 1}], "cannot unmarshal number into Go struct field jsonPatchOp.op of type string"),
        ([{"path": []}], "cannot unmarshal array into Go struct field jsonPatchOp.path of type string"),
    ],
)
def test_what_is_not_a_list_of_operations_is_refused(operations, message):
    with pytest.raises(ApiError) as caught:
        json_patch.apply(BASE, operations)
    assert (caught.value.code, caught.value.message) == (400, f"error decoding patch: json: {message}")


def test_too_many_operations_are_refused():
    operation = {"op": "test", "path": "/flag", "value": True}
    assert json_patch.apply(BASE, [operation] * json_patch.MAX_OPERATIONS) == BASE
    with pytest.raises(ApiError) as caught:
        json_patch.apply(BASE, [operation] * (json_patch.MAX_OPERATIONS + 1))
    assert caught.value.code == 413
    assert caught.value.message == (
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    )


def test_copies_of_copies_are_stopped_before_they_fill_the_memory():
    doubling = [{"op": "copy", "from": "/list", "path": f"/list/{index}"} for index in range(40)]
    with pytest.raises(ApiError) as caught:
        json_patch.apply({"list": ["x" * 1000]}, doubling)
    assert caught.value.code == 422
