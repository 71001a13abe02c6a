"""Go's words for texts that are not JSON. The expected messages were read from encoding/json."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot.standalone.objects.gojson import MAX_DEPTH, syntax_error

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "unexpected end of JSON input"),
        (b" {", "unexpected end of JSON input"),
        (b'"a', "unexpected end of JSON input"),
        (b'{"a":1', "unexpected end of JSON input"),
        (b"a", "invalid character 'a' looking for beginning of value"),
        (b"'", "invalid character '\\'' looking for beginning of value"),
        (b"\xff", "invalid character 'ÿ' looking for beginning of value"),
        (b"[1,]", "invalid character ']' looking for beginning of value"),
        (b"{]", "invalid character ']' looking for beginning of object key string"),
        (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        (b'{"a"]', "invalid character ']' after object key"),
        (b'{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"{}x", "invalid character 'x' after top-level value"),
        (b"01", "invalid character '1' after top-level value"),
        (b"nul", "invalid character ' ' in literal null (expecting 'l')"),
        (b"trie", "invalid character 'i' in literal true (expecting 'u')"),
        (b"-", "invalid character ' ' in numeric literal"),
        (b"-x", "invalid character 'x' in numeric literal"),
        (b"1.", "invalid character ' ' after decimal point in numeric literal"),
        (b"1.x", "invalid character 'x' after decimal point in numeric literal"),
        (b"1e+", "invalid character ' ' in exponent of numeric literal"),
        (b"2.5ex", "invalid character 'x' in exponent of numeric literal"),
        (b'"a\x01"', "invalid character '\\x01' in string literal"),
        (b'"\\x"', "invalid character 'x' in string escape code"),
        (b'"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"),
        (b"[" * (MAX_DEPTH + 1), "invalid character '[' exceeded max depth"),
    ],
)
def test_a_fault_is_told_as_go_tells_it(text: bytes, message: str) -> None:
    assert syntax_error(text) == message


@given(VALUES)
def test_json_has_no_fault(value: object) -> None:
    assert syntax_error(json.dumps(value).encode()) == ""


@given(st.binary(max_size=30))
def test_what_has_no_fault_is_json(raw: bytes) -> None:
    if not syntax_error(raw):
        json.loads(raw.decode("utf-8", "replace"))
