"""The wire format: records are told apart, and nothing hostile gets further than an error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protobuf_encoder import block, number, varint

from ingot.standalone.protobuf import wire
from ingot.standalone.protobuf.wire import BYTES, VARINT, WireError, members, records, signed, varints


def found(data: bytes) -> list[tuple[int, int, int | bytes]]:
    return [
        (at, kind, value if kind == VARINT else bytes(value)) for at, kind, value in records(memoryview(data), "Thing")
    ]


def test_records_of_every_type_are_told_apart() -> None:
    data = number(1, 300) + block(2, b"ab") + varint(3 << 3 | 1) + b"12345678" + varint(4 << 3 | 5) + b"1234"
    assert found(data) == [(1, 0, 300), (2, 2, b"ab"), (3, 1, b"12345678"), (4, 5, b"1234")]


def test_a_group_is_skipped_with_the_groups_in_it() -> None:
    start, end = varint(9 << 3 | 3), varint(9 << 3 | 4)
    inside = number(1, 7) + start + block(2, b"ab") + end + varint(3 << 3 | 5) + b"1234"
    assert found(start + inside + end + number(1, 2)) == [(9, 3, b""), (1, 0, 2)]


def test_a_million_open_groups_are_refused_without_recursion() -> None:
    with pytest.raises(WireError, match=wire.TRUNCATED):
        found(varint(9 << 3 | 3) * 1_000_000)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x80", wire.TRUNCATED),
        (b"\x08", wire.TRUNCATED),
        (b"\x0a\x05ab", wire.TRUNCATED),
        (b"\x09\x00", wire.TRUNCATED),
        (b"\x0d\x00", wire.TRUNCATED),
        (b"\x0a" + varint(2**62), wire.TRUNCATED),
        (b"\xff" * 11, wire.OVERFLOW),
        (b"\x0a" + varint(2**63), wire.NEGATIVE_LENGTH),
        (b"\x0c", "proto: Thing: wiretype end group for non-group"),
        (b"\x02\x00", r"proto: Thing: illegal tag 0 \(wire type 2\)"),
        (b"\x0e\x00", "proto: illegal wireType 6"),
        (b"\x4b\x0f\x00", "proto: illegal wireType 7"),
    ],
)
def test_what_is_no_record_is_refused_in_the_words_of_go(data: bytes, message: str) -> None:
    with pytest.raises(WireError, match=message):
        found(data)


def test_members_are_the_last_of_their_number_and_of_their_type() -> None:
    data = memoryview(number(1, 1) + block(2, b"x") + number(1, 5) + block(7, b"unknown"))
    assert members(data, "Thing", (VARINT, BYTES)) == {1: 5, 2: b"x"}
    with pytest.raises(WireError, match=r"wrong wireType = 0 for field Thing\.1"):
        members(data, "Thing", (BYTES, BYTES))


@given(st.lists(st.integers(0, 2**64 - 1), max_size=5))
def test_numbers_come_back_as_they_were(values: list[int]) -> None:
    assert list(varints(memoryview(b"".join(map(varint, values))))) == values


@given(st.integers(-(2**31), 2**31 - 1))
def test_negative_numbers_are_twos_complement(value: int) -> None:
    assert signed(value & (2**64 - 1), 32) == value
    assert signed(value & (2**64 - 1), 64) == value


@given(st.binary(max_size=60))
def test_any_bytes_are_records_or_an_error(data: bytes) -> None:
    try:
        assert all(at > 0 for at, _, _ in records(memoryview(data), "Thing"))
    except WireError as error:
        assert str(error)  # noqa: PT017  # some bytes are records
