import pytest

from ingot.standalone.patch import values


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (1, True, False),
        (0, False, False),
        (1, 1.0, True),
        ({"a": [1]}, {"a": [True]}, False),
        ({"a": [1]}, {"a": [1]}, True),
        ({"a": None}, {}, False),
        ([1, 2], [1], False),
        (None, None, True),
        ("1", 1, False),
        ({}, [], False),
    ],
)
def test_same_tells_a_boolean_from_a_number_at_any_depth(left, right, expected):
    assert values.same(left, right) is expected
    assert values.same(right, left) is expected
    assert (values.identity(left) == values.identity(right)) is expected


def test_a_copy_shares_no_container():
    original = {"a": [{"b": []}], "c": {}}
    made = values.copy(original)
    made["a"][0]["b"].append(1)
    made["c"]["d"] = 1
    assert original == {"a": [{"b": []}], "c": {}}


@pytest.mark.parametrize(
    ("value", "expected"),
    [("a<b>&", '"a\\u003cb\\u003e\\u0026"'), (1, "1"), (1.0, "1"), (1.5, "1.5"), (True, "true"), (None, "null")],
)
def test_json_is_written_as_go_writes_it(value, expected):
    assert values.to_json(value) == expected
