"""Streams that are not compressed."""

from collections.abc import Iterator

from ingot.images.codec.decompressor import PIECE
from ingot.images.seal import seal, unseal

_KIND = b"ingplai1"


class Plain:
    """A Decompressor that gives what it gets, in the same memory."""

    def __init__(self, subject: str) -> None:
        self._subject = subject
        self._position = 0

    @property
    def position(self) -> int:
        return self._position

    def decompress(self, data: memoryview) -> Iterator[memoryview]:
        for start in range(0, len(data), PIECE):
            piece = data[start : start + PIECE]
            self._position += len(piece)
            yield piece

    def checkpoint(self) -> bytes:
        return seal(_KIND, self._position.to_bytes(8, "little"))

    def resume(self, checkpoint: bytes) -> None:
        self._position = int.from_bytes(unseal(_KIND, checkpoint, f"checkpoint of {self._subject}"), "little")

    def finish(self) -> None:
        """It may end anywhere."""
