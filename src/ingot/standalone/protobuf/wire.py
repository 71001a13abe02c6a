"""Protobuf's wire format: numbered records, each with a type that tells where it ends.

What is wrong is told in the words of Go's decoder, as kube-apiserver's answers show them.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

VARINT, FIXED64, BYTES, GROUP, END_GROUP, FIXED32 = range(6)

# What a record holds: an int when it is a VARINT, else a memoryview. The wire type tells which.
Value: TypeAlias = Any

TRUNCATED = "unexpected EOF"
OVERFLOW = "proto: integer overflow"
NEGATIVE_LENGTH = "proto: negative length found during unmarshaling"

_UINT64 = (1 << 64) - 1
# Numbers of fields are positive in 32 bits.
_END_OF_NUMBERS = 1 << 31


class WireError(ValueError):
    """The bytes are not the message that they should be."""


def records(data: memoryview, message: str) -> Iterator[tuple[int, int, Value]]:
    """Every record as (number, wire type, value); `message` is the name for errors. Raises WireError.

    A group, which no Kubernetes message has, is given as an empty value, then skipped with all that it holds.
    """
    at, size = 0, len(data)
    while at < size:
        tag, at = (data[at], at + 1) if data[at] < 0x80 else varint(data, at)
        number, wire = tag >> 3, tag & 7
        legal = 0 < number < _END_OF_NUMBERS
        if wire == BYTES and legal and at < size and data[at] < 0x80 and (end := at + 1 + data[at]) <= size:
            # Nearly every record is like this: strings and messages of less than 128 bytes.
            start, at = at + 1, end
            yield number, wire, data[start:end]
            continue
        if wire == END_GROUP:
            raise WireError(f"proto: {message}: wiretype end group for non-group")
        if not legal:
            raise WireError(f"proto: {message}: illegal tag {signed(number, 32)} (wire type {tag})")
        if wire == GROUP:
            yield number, wire, data[at:at]
            at = _after_group(data, at)
        else:
            value, at = _value(data, at, wire)
            yield number, wire, value


def members(data: memoryview, message: str, wires: Sequence[int]) -> dict[int, Value]:
    """The last value of each of a message's first fields, whose wire types are given in order of their numbers.

    Raises WireError.
    """
    found: dict[int, Value] = {}
    for number, wire, value in records(data, message):
        if number <= len(wires):
            if wire != wires[number - 1]:
                raise wrong_type(wire, f"{message}.{number}")
            found[number] = value
    return found


def wrong_type(wire: int, field: str) -> WireError:
    return WireError(f"proto: wrong wireType = {wire} for field {field}")


def varint(data: memoryview, at: int) -> tuple[int, int]:
    """The number that starts at a place, and the place after it. Raises WireError."""
    size = len(data)
    result = 0
    for shift in range(0, 64, 7):
        if at >= size:
            raise WireError(TRUNCATED)
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & _UINT64, at
    raise WireError(OVERFLOW)


def varints(data: memoryview) -> Iterator[int]:
    """Numbers that stand one after the other: the packed form of a list. Raises WireError."""
    at = 0
    size = len(data)
    while at < size:
        value, at = (data[at], at + 1) if data[at] < 0x80 else varint(data, at)
        yield value


def signed(value: int, bits: int) -> int:
    """The lowest bits of a number as two's complement."""
    if value < 1 << (bits - 1):
        return value
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _value(data: memoryview, at: int, wire: int) -> tuple[Value, int]:
    if wire == VARINT:
        return varint(data, at)
    if wire == BYTES:
        length, at = varint(data, at)
        if length >> 63:
            raise WireError(NEGATIVE_LENGTH)
    elif wire == FIXED64:
        length = 8
    elif wire == FIXED32:
        length = 4
    else:
        raise WireError(f"proto: illegal wireType {wire}")
    end = at + length
    if end > len(data):
        raise WireError(TRUNCATED)
    return data[at:end], end


def _after_group(data: memoryview, at: int) -> int:
    """The place after the end of the group whose inside starts at `at`; groups within it are counted, not entered."""
    depth = 1
    while depth:
        tag, at = varint(data, at)
        wire = tag & 7
        if wire == GROUP:
            depth += 1
        elif wire == END_GROUP:
            depth -= 1
        else:
            _, at = _value(data, at, wire)
    return at
