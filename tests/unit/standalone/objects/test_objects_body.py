"""Bodies: hostile texts are refused before anything recurses into them."""

from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth import assert_linear
from ingot.api.status import ApiError
from ingot.standalone.objects.body import MAX_DEPTH, Unreadable, decode

JSON, YAML = "application/json", "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"


def test_json_and_yaml_give_the_same_object() -> None:
    wanted = {"a": 1, "b": {"c": ["x", True, None]}, "day": "2026-01-01"}
    assert decode(b'{"a":1,"b":{"c":["x",true,null]},"day":"2026-01-01"}', JSON).value == wanted
    assert decode(b"a: 1\nb: {c: [x, true, null]}\nday: 2026-01-01\n", YAML).value == wanted


def test_json_is_the_default_and_parameters_are_ignored() -> None:
    assert decode(b"{}", "").value == {}
    assert decode(b"{}", "application/json; charset=utf-8").value == {}


@pytest.mark.parametrize(
    ("raw", "media", "paths"),
    [
        (b'{"a":1,"a":2,"b":[{"c":1,"c":2}],"d":{"a":1}}', JSON, ["a", "b[0].c"]),
        (b"a: 1\na: 2\nb:\n  c: 1\n  c: 2\n", YAML, ["a", "c"]),
    ],
)
def test_duplicate_fields_are_told(raw: bytes, media: str, paths: list[str]) -> None:
    assert decode(raw, media).duplicates == paths


def test_bytes_that_are_not_utf8_are_replaced_one_by_one() -> None:
    assert decode(b'{"a":"\xff\xe2\x82x"}', JSON).value == {"a": "\ufffd\ufffd\ufffdx"}


@pytest.mark.parametrize(
    ("raw", "media", "fault"),
    [
        (b"{", JSON, "unexpected end of JSON input"),
        (b"[1,", JSON, "unexpected end of JSON input"),
        (b"nope", JSON, "invalid character 'o' in literal null (expecting 'u')"),
        (b'{"a" 1}', JSON, "invalid character '1' after object key"),
        (b"a: b: c", YAML, "error converting YAML to JSON: yaml: mapping values are not allowed in this context"),
        (b"a:\n  b: [\n", YAML, "error converting YAML to JSON: yaml: line 2: did not find expected node content"),
    ],
)
def test_a_fault_is_told_in_the_words_of_go(raw: bytes, media: str, fault: str) -> None:
    with pytest.raises(Unreadable) as refused:
        decode(raw, media)
    assert refused.value.fault == fault


@pytest.mark.parametrize(
    ("raw", "media"),
    [
        (b"", JSON),
        (b"{", JSON),
        (b"{'a': 1}", JSON),
        (b'{"a":NaN}', JSON),
        (b'{"a":' * (MAX_DEPTH + 1) + b"1" + b"}" * (MAX_DEPTH + 1), JSON),
        (b"[" * 3_000_000, JSON),
        (b"[" * 3_000_000, YAML),
        (b"- " * 1_000_000, YAML),
        (b"a: [", YAML),
        (b"a: &x [1]\nb: *x\n", YAML),
        (b"a: !!python/object:os.system x", YAML),
        (b"a: !!int x", YAML),
        (b"? [a]\n: 2", YAML),
        (b"\xff\xfe\x00", YAML),
    ],
)
def test_hostile_bodies_are_bad_requests(raw: bytes, media: str) -> None:
    with pytest.raises(ApiError) as refused:
        decode(raw, media)
    assert refused.value.code == 400


def test_other_media_are_unsupported() -> None:
    with pytest.raises(ApiError) as refused:
        decode(b"\x0a\x00", "application/cbor")
    assert refused.value.code == 415
    assert refused.value.message == (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    )


def test_protobuf_becomes_the_same_object_as_json() -> None:
    raw = b"k8s\x00\n\x0f\n\x02v1\x12\tConfigMap\x12\r\n\x03\n\x01a\x12\x06\n\x01b\x12\x01c"
    json = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"b":"c"}}'
    assert decode(raw, PROTOBUF) == decode(json, JSON)


def test_json_within_protobuf_must_not_nest_too_deep_either() -> None:
    text = b'{"a":' * 600 + b"1" + b"}" * 600
    fields = _message(17, _message(7, _message(1, text)))
    raw = b"k8s\x00\n\x0f\n\x02v1\x12\tConfigMap" + _message(2, _message(1, fields))
    with pytest.raises(ApiError, match="nests deeper"):
        decode(raw, PROTOBUF)


def _message(number: int, content: bytes) -> bytes:
    head = bytearray()
    for value in (number << 3 | 2, len(content)):
        while value > 0x7F:
            head.append(value & 0x7F | 0x80)
            value >>= 7
        head.append(value)
    return bytes(head) + content


@given(st.binary(max_size=200), st.sampled_from([JSON, YAML, PROTOBUF]))
def test_any_bytes_give_a_body_or_a_bad_request(raw: bytes, media: str) -> None:
    try:
        decode(raw, media)
    except ApiError as refused:
        assert refused.code == 400  # noqa: PT017  # some bytes are bodies


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("22:22", "22:22"),
        ("1:30.5", "1:30.5"),
        ("2020-01-01", "2020-01-01"),
        ("1_000", 1000),
        ("017", 15),
        ("0x1F", 31),
        ("-3", -3),
        ("0", 0),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("1.5e-1", 0.15),
        ("1.", 1.0),
        (".5", 0.5),
        ("1.2.3", "1.2.3"),
        ("1e", "1e"),
    ],
)
def test_yaml_reads_numbers_as_go_does(written: str, value: object) -> None:
    assert decode(f"a: {written}".encode(), YAML).value == {"a": value}


@pytest.mark.parametrize(
    "text",
    [
        lambda length: "".join(f"k{number}: 1\n" for number in range(length)) + "k1: 2\n",
        lambda length: "a: " + ":".join(["1"] * length * 10),
        lambda length: "<<: {}\n" * length,
    ],
    ids=["keys", "sexagesimal", "merges"],
)
def test_no_text_takes_longer_than_it_is_long(text: Callable[[int], str]) -> None:
    def read(length: int) -> None:
        with suppress(Unreadable):
            decode(text(length).encode(), YAML)

    assert_linear(read, 2500)
