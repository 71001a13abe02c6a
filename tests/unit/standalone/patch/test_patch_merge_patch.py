import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot.api.status import ApiError
from ingot.standalone.patch import merge_patch

# Maps in lists are left out: whether their nulls stay depends on what the list replaces, as in Kubernetes.
scalars = st.sampled_from([None, 1, "a", True])
values = st.recursive(
    scalars | st.lists(scalars, max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from("abc"), values, max_size=3)


@pytest.mark.parametrize(
    ("base", "patch", "expected"),
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": 1}, {"a": None}, {}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None}}, {"a": {"c": 2}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": {"b": 1}}, {"a": "x"}, {"a": "x"}),
        ({"a": "x"}, {"a": {"b": 1, "c": None}}, {"a": {"b": 1}}),
        ({}, {"a": {"b": None}}, {"a": {}}),
        ({}, {"a": [{"b": None}, None]}, {"a": [{}, None]}),
        ({"a": {}}, {"a": [{"b": None}]}, {"a": [{"b": None}]}),
        ({"a": None}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
        ({"a": None}, {}, {"a": None}),
    ],
)
def test_merging(base, patch, expected):
    assert merge_patch.apply(base, patch) == expected


@given(objects, objects)
def test_a_patch_applied_twice_is_applied_once_and_changes_no_argument(base, patch):
    kept = copy.deepcopy((base, patch))
    once = merge_patch.apply(base, patch)
    assert merge_patch.apply(once, patch) == once
    assert (base, patch) == kept


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ([], "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ("x", "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}"),
        (1, "error decoding patch: json: cannot unmarshal number into Go value of type map[string]interface {}"),
        (True, "error decoding patch: json: cannot unmarshal bool into Go value of type map[string]interface {}"),
        (None, "Invalid JSON Patch"),
    ],
)
def test_what_is_not_an_object_is_refused(patch, message):
    with pytest.raises(ApiError) as caught:
        merge_patch.apply({}, patch)
    assert (caught.value.code, caught.value.message) == (400, message)
