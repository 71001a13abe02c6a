"""Bytes that we wrote and read again later, with a digest, so that damage is noticed before they are used."""

import hashlib
from typing import TypeVar

import msgspec

from ingot.images.fault import ImageFault

_DIGEST = 32
T = TypeVar("T", bound=msgspec.Struct)


def seal(kind: bytes, payload: bytes | bytearray) -> bytes:
    """The payload behind its kind, eight bytes that name its form and version, and a digest of both."""
    return kind + hashlib.sha256(kind + payload).digest() + payload


def unseal(kind: bytes, sealed: bytes | memoryview, subject: str) -> memoryview:
    """The payload. Raises ImageFault Damaged when it is of another kind or not as it was sealed."""
    view = memoryview(sealed)
    payload = view[len(kind) + _DIGEST :]
    if view[: len(kind)] != kind:
        raise ImageFault(subject, "Damaged", f"it does not begin with {kind.decode()}: it is not ours, or of old")
    if hashlib.sha256(kind + payload).digest() != view[len(kind) : len(kind) + _DIGEST]:
        raise ImageFault(subject, "Damaged", "it is not as it was written: its digest is wrong")
    return payload


def seal_record(kind: bytes, record: msgspec.Struct) -> bytes:
    return seal(kind, msgspec.msgpack.encode(record))


def unseal_record(kind: bytes, sealed: bytes | memoryview, type: type[T], subject: str) -> T:
    """Raises ImageFault Damaged."""
    return decode_record(unseal(kind, sealed, subject), type, subject)


def decode_record(payload: bytes | memoryview, type: type[T], subject: str) -> T:
    """A record that is within something sealed. Raises ImageFault Damaged when it is no such record."""
    try:
        return msgspec.msgpack.decode(payload, type=type)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ImageFault(subject, "Damaged", f"it cannot be read ({error})") from None
