from typing import Any

import pytest

from ingot.standalone import goprint


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (1, "1"),
        (1.0, "1"),
        (1.5, "1.5"),
        (100000.0, "100000"),
        (1000000.0, "1e+06"),
        (1000000, "1000000"),
        (123456789.0, "1.23456789e+08"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (1.25e-7, "1.25e-07"),
        (-3.0, "-3"),
        (0.0, "0"),
        (float(2**60), "1.152921504606847e+18"),
        (2**63, "9.223372036854776e+18"),
        (12345678.9, "1.23456789e+07"),
        (float("inf"), "+Inf"),
    ],
)
def test_numbers_print_as_in_go(value: float, printed: str) -> None:
    assert goprint.number(value) == printed


def test_values_print_as_go_source() -> None:
    value = {"b": 1, "a": [None, True, 1.0, "x\n"]}
    assert goprint.syntax(value) == (
        'map[string]interface {}{"a":[]interface {}{interface {}(nil), true, 1, "x\\n"}, "b":1}'
    )


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("", '""'),
        ("a", '"a"'),
        ("system:serviceaccount:a:b", '"system:serviceaccount:a:b"'),
        ('a"\\', '"a\\"\\\\"'),
        ("\a\b\f\n\r\t\v", '"\\a\\b\\f\\n\\r\\t\\v"'),
        ("\x01\x7f", '"\\x01\\x7f"'),
        ("é日", '"é日"'),
        ("\u00a0\u200b", '"\\u00a0\\u200b"'),
        ("\U000e0001", '"\\U000e0001"'),
    ],
)
def test_texts_are_quoted_as_in_go(text: str, quoted: str) -> None:
    assert goprint.quote(text) == quoted


@pytest.mark.parametrize(
    ("value", "printed", "kind"),
    [
        (None, "<nil>", "<nil>"),
        (True, "true", "bool"),
        ({"b": [1, "x"], "a": None}, "map[a:<nil> b:[1 x]]", "map[string]interface {}"),
        ([1.5], "[1.5]", "[]interface {}"),
        (2**63, "9.223372036854776e+18", "float64"),
        (5, "5", "int64"),
        (1.5, "1.5", "float64"),
        ("x y", "x y", "string"),
    ],
)
def test_values_print_plainly_with_their_type(value: Any, printed: str, kind: str) -> None:
    assert (goprint.plain(value), goprint.go_type(value)) == (printed, kind)


def test_lists_of_strings_are_quoted_or_written_as_source() -> None:
    assert goprint.quote_all([]) == "[]"
    assert goprint.quote_all(["a", "b c"]) == '["a" "b c"]'
    assert goprint.strings([]) == "[]string(nil)"
    assert goprint.strings(["a", "b c"]) == '[]string{"a", "b c"}'
