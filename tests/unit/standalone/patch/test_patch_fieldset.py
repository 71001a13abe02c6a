import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot.standalone.patch import fieldset, pathelement

steps = st.sampled_from(["f:a", "f:b", 'k:{"name":"x"}', 'v:"x"', "v:1"])
paths = st.lists(steps, min_size=1, max_size=4).map(tuple)
path_lists = st.lists(paths, max_size=8)


def as_paths(group):
    return set(fieldset.paths(group))


@given(path_lists)
def test_a_set_holds_exactly_its_paths(listed):
    group = fieldset.of(*listed)
    assert as_paths(group) == set(listed)
    assert fieldset.decode(group) == group


@given(path_lists, path_lists)
def test_operations_are_those_of_sets_of_paths(left, right):
    one, two = fieldset.of(*left), fieldset.of(*right)
    assert as_paths(fieldset.union(one, two)) == set(left) | set(right)
    assert as_paths(fieldset.intersection(one, two)) == set(left) & set(right)
    assert as_paths(fieldset.difference(one, two)) == set(left) - set(right)


@given(path_lists, path_lists)
def test_results_are_canonical_so_equal_sets_are_equal_dictionaries(left, right):
    one, two = fieldset.of(*left), fieldset.of(*right)
    for made in (fieldset.union(one, two), fieldset.intersection(one, two), fieldset.difference(one, two)):
        assert made == fieldset.of(*fieldset.paths(made))


@given(path_lists, path_lists)
def test_recursive_difference_takes_all_below_a_path(left, right):
    kept = {path for path in left if not any(path[: len(gone)] == gone for gone in right)}
    assert as_paths(fieldset.recursive_difference(fieldset.of(*left), fieldset.of(*right))) == kept


@given(path_lists)
def test_leaves_are_the_paths_with_nothing_below(listed):
    expected = {path for path in listed if not any(other != path and other[: len(path)] == path for other in listed)}
    assert as_paths(fieldset.leaves(fieldset.of(*listed))) == expected


@given(path_lists, path_lists)
def test_no_operation_changes_its_arguments(left, right):
    one, two = fieldset.of(*left), fieldset.of(*right)
    fieldset.union(one, two)
    fieldset.intersection(one, two)
    fieldset.difference(one, two)
    fieldset.recursive_difference(one, two)
    assert one == fieldset.of(*left)
    assert two == fieldset.of(*right)


def test_difference_returns_the_set_itself_when_nothing_goes():
    group = fieldset.of(("f:a", "f:b"))
    assert fieldset.difference(group, fieldset.of(("f:a",))) is group


def test_the_form_is_that_of_fields_v1():
    group = fieldset.of(fieldset.fields("spec"), fieldset.fields("spec", "a"), fieldset.fields("data", "b"))
    assert group == {"f:spec": {".": {}, "f:a": {}}, "f:data": {"f:b": {}}}


def test_paths_come_members_first_and_in_the_order_of_their_steps():
    group = {"f:b": {}, "f:a": {".": {}, "v:2": {}, "v:10": {}, 'k:{"n":"x"}': {}, "f:z": {}}}
    shown = [fieldset.path_text(path) for path in fieldset.paths(group)]
    assert shown == [".a", ".b", ".a.z", '.a[n="x"]', ".a[=2]", ".a[=10]"]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"f:a": {".": {}}}, {"f:a": {}}),
        ({"f:a": None}, {"f:a": {}}),
        ({"f:a": {"z:future": {}, "f:b": {}}}, {"f:a": {"f:b": {}}}),
        ({'k:{"b":1, "a":"x"}': {}}, {'k:{"a":"x","b":1}': {}}),
        ({"v:1.0": {}}, {"v:1": {}}),
        ({"i:007": {}}, {"i:7": {}}),
        ({".": {}, "f:a": {}}, {"f:a": {}}),
    ],
)
def test_decoding_gives_the_canonical_form(raw, expected):
    assert fieldset.decode(raw) == expected


@pytest.mark.parametrize(
    "raw", [{"x": {}}, {"data": {}}, {"v:{": {}}, {"k:1": {}}, {"i:x": {}}, {"f:a": []}, {"f:a": "x"}, []]
)
def test_decoding_refuses_what_is_malformed(raw):
    with pytest.raises(ValueError, match=r".+"):
        fieldset.decode(raw)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("f:name", ".name"),
        ('k:{"port":80,"protocol":"TCP"}', '[port=80,protocol="TCP"]'),
        ('v:"a"', '[="a"]'),
        ("v:true", "[=true]"),
        ("v:null", "[=null]"),
        ("i:3", "[3]"),
    ],
)
def test_steps_as_messages_show_them(step, expected):
    assert pathelement.text(step) == expected
