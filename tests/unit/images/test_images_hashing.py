"""SHA-256 that goes on in another process."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot.images.fault import ImageFault
from ingot.images.hashing import Sha256
from ingot.images.seal import seal, unseal


@given(parts=st.lists(st.binary(max_size=300), max_size=8))
def test_it_is_sha256_and_goes_on_from_its_state(parts: list[bytes]) -> None:
    hashing = Sha256()
    for part in parts:
        hashing.update(part)
        hashing = Sha256.from_state(hashing.state())
        hashing.update(bytearray())
    assert hashing.digest() == hashlib.sha256(b"".join(parts)).digest()
    assert hashing.hexdigest() == hashing.digest().hex()


def test_all_kinds_of_buffers_are_taken() -> None:
    hashing = Sha256()
    for data in (b"bytes", bytearray(b"array"), memoryview(b"view"), memoryview(bytearray(b"-writable-"))[1:-1]):
        hashing.update(data)
    assert hashing.digest() == hashlib.sha256(b"bytesarrayviewwritable").digest()


def test_what_cannot_be_a_state_is_refused() -> None:
    state = bytearray(Sha256().state())
    state[104] = 64
    for wrong in (b"", bytes(state), bytes(len(state))):
        with pytest.raises(ValueError, match="state of SHA-256"):
            Sha256.from_state(wrong)


def test_what_was_sealed_is_noticed_when_it_changes() -> None:
    sealed = seal(b"ingtest1", b"payload")
    assert unseal(b"ingtest1", sealed, "file") == b"payload"
    for wrong in (sealed[:-1], sealed[:10], b"", sealed.replace(b"pay", b"pax"), seal(b"ingtest2", b"payload")):
        with pytest.raises(ImageFault) as caught:
            unseal(b"ingtest1", wrong, "file")
        assert caught.value.reason == "Damaged"
