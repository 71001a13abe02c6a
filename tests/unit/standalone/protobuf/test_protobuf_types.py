"""Single values: each becomes what JSON has for it."""

import struct
from typing import Any

import pytest
from protobuf_encoder import CUSTOMS, META, block, number

from ingot.standalone.builtin import schemas
from ingot.standalone.protobuf.types import SPECIAL, of_scalar
from ingot.standalone.protobuf.wire import WireError


def special(name: str, content: bytes) -> Any:
    return SPECIAL[name].read(memoryview(content), 0)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", None),
        (number(1, 0) + number(2, 0), "1970-01-01T00:00:00Z"),
        (number(1, 1_700_000_000) + number(2, 999_999_999), "2023-11-14T22:13:20Z"),
        (number(1, -1), "1969-12-31T23:59:59Z"),
        (number(1, -62135596800), None),
    ],
)
def test_times_are_whole_seconds_and_the_zero_time_is_none(content: bytes, text: str | None) -> None:
    assert special(schemas.TIME, content) == text


def test_times_of_events_and_leases_have_microseconds() -> None:
    content = number(1, 1_700_000_000) + number(2, 123_456_789)
    assert special(schemas.MICRO_TIME, content) == "2023-11-14T22:13:20.123456Z"


@pytest.mark.parametrize("seconds", [2**62, -(2**62), 253402300800])
def test_a_time_beyond_the_calendar_is_refused(seconds: int) -> None:
    with pytest.raises(WireError, match="outside of the years"):
        special(schemas.TIME, number(1, seconds))


def test_ports_are_numbers_or_names() -> None:
    assert special(schemas.INT_OR_STRING, number(1, 0) + number(2, 8080) + block(3, b"")) == 8080
    assert special(schemas.INT_OR_STRING, number(1, 1) + number(2, 0) + block(3, b"http")) == "http"
    assert special(schemas.INT_OR_STRING, b"") == 0


def test_quantities_are_their_text() -> None:
    assert special(schemas.QUANTITY, block(1, b"1500m")) == "1500m"
    assert special(schemas.QUANTITY, b"") == "0"


@pytest.mark.parametrize("name", [f"{META}.FieldsV1", f"{CUSTOMS}.JSON"])
def test_json_within_a_message_is_read(name: str) -> None:
    assert special(name, block(1, b'{"f:data":{".":{}}}')) == {"f:data": {".": {}}}
    assert special(name, block(1, b"null")) is None
    assert special(name, b"") is None
    for bad in (b"{", b'"\xff"', b"[" * 1_000_000):
        with pytest.raises(WireError, match="invalid JSON"):
            special(name, block(1, bad))


@pytest.mark.parametrize(("number_", "expected"), [(1.0, 1), (-2.5, -2.5), (1e20, 10**20), (1e22, 1e22), (0.0, 0)])
def test_numbers_are_written_as_go_does(number_: float, expected: float) -> None:
    read = of_scalar({"type": "number"}).read(memoryview(struct.pack("<d", number_)), 0)
    assert read == expected
    assert type(read) is type(expected)


def test_what_json_cannot_say_is_refused() -> None:
    with pytest.raises(WireError, match="unsupported value: nan"):
        of_scalar({"type": "number"}).read(memoryview(struct.pack("<d", float("nan"))), 0)
    with pytest.raises(WireError, match="invalid UTF-8"):
        of_scalar({"type": "string"}).read(memoryview(b"\xed\xa0\x80"), 0)


def test_integers_are_cut_to_their_size() -> None:
    assert of_scalar({"type": "integer", "format": "int32"}).read(2**32 + 5, 0) == 5
    assert of_scalar({"type": "integer", "format": "int64"}).read(2**64 - 1, 0) == -1
