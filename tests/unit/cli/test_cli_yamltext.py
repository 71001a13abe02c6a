"""YAML as Kubernetes reads it, and as everyone reads what we write."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ingot.cli.yamltext import documents, to_yaml


def load(text: str) -> Any:
    ((value, _),) = documents(text.encode())
    return value


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("12:30", "12:30"),
        ("2026-01-31", "2026-01-31"),
        ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"),
        ("0644", 420),
        ("0o17", 15),
        ("-0x1F", -31),
        ("0b101", 5),
        ("1_000", 1000),
        ("08", 8),
        ("1e3", 1000),
        ("1.5", 1.5),
        ("3.0", 3),
        ("on", True),
        ("No", False),
        ("y", True),
        ("~", None),
        ("", None),
        ("10Gi", "10Gi"),
        ("1.2.3", "1.2.3"),
        ("'1'", "1"),
        ("=", "="),
    ],
)
def test_plain_words_mean_what_they_mean_to_kubernetes(word: str, value: object) -> None:
    found = load(f"v: {word}")["v"]
    assert (type(found), found) == (type(value), value)


def test_keys_are_text() -> None:
    assert load("1: a\ntrue: b\n'x': c") == {"1": "a", "true": "b", "x": "c"}


def test_a_key_that_is_set_twice_is_refused_with_its_line() -> None:
    with pytest.raises(yaml.MarkedYAMLError, match='"a" is set twice') as error:
        load("a: 1\nb: 2\na: 3")
    assert error.value.problem_mark is not None
    assert error.value.problem_mark.line == 2


def test_anchors_and_merge_keys_work() -> None:
    assert load("base: &b {x: 1}\nhere:\n  <<: *b\n  z: 2")["here"] == {"x": 1, "z": 2}


def test_documents_know_their_lines() -> None:
    found = list(documents(b"# head\na: 1\n---\n# more\nb: 2\n"))
    assert [(value, node.start_mark.line) for value, node in found] == [({"a": 1}, 1), ({"b": 2}, 4)]


def test_a_byte_order_mark_is_no_content() -> None:
    assert load("\ufeffa: 1") == {"a": 1}


def test_python_objects_are_never_made() -> None:
    with pytest.raises(yaml.YAMLError):
        load("!!python/object/apply:os.system ['true']")


@pytest.mark.parametrize("value", ["1e3", "08", "y", "N", "on", "2026-01-31", "12:30", "0o17", "", "null", "<<", "~"])
def test_text_that_looks_like_something_else_is_quoted(value: str) -> None:
    assert to_yaml({"v": value}) == f'v: "{value}"\n'


def test_text_on_several_lines_is_a_block() -> None:
    assert to_yaml({"v": "one\n two\n"}) == "v: |\n  one\n   two\n"


@pytest.mark.parametrize("value", ["\x85", "a\u2028b\n", "\x00", "\ud7ff\ufeff", "tab\tand\nline\n"])
def test_text_that_cannot_be_seen_survives(value: str) -> None:
    assert load(to_yaml({value: value})) == {value: value}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_what_is_written_reads_the_same(value: object) -> None:
    assert load(to_yaml({"v": value})) == {"v": value}
    assert yaml.safe_load(to_yaml({"v": value})) == {"v": value}
