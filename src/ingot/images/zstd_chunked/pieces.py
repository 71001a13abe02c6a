"""The pieces of a file in a zstd:chunked layer: chunks, and runs of zeros, one after the other."""

from array import array
from bisect import bisect_right
from collections.abc import Iterator

from ingot.images.chunk import Chunk

_DIGEST_SIZE = 32


class Pieces:
    """What a file is made of, in little memory: a table of numbers instead of an object for each piece.

    Piece `index` is the bytes from `offsets[index]` to `offsets[index + 1]` of the file.
    """

    def __init__(self) -> None:
        self.offsets = array("Q", [0])
        self._starts = array("Q")
        self._ends = array("Q")
        self._digests = bytearray()

    def append(self, size: int, start: int, end: int, digest: bytes) -> None:
        """A chunk, which is the frame from `start` to `end` of the blob."""
        self.offsets.append(self.offsets[-1] + size)
        self._starts.append(start)
        self._ends.append(end)
        self._digests += digest

    def append_zeros(self, size: int) -> None:
        self.append(size, 0, 0, bytes(_DIGEST_SIZE))

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def size(self) -> int:
        """Of the file."""
        return self.offsets[-1]

    def find(self, offset: int) -> int:
        """The piece that holds this byte of the file."""
        return bisect_right(self.offsets, offset) - 1

    def is_zeros(self, index: int) -> bool:
        return self._ends[index] == 0

    def chunk(self, index: int) -> Chunk | None:
        """None for zeros."""
        if self._ends[index] == 0:
            return None
        digest = bytes(self._digests[index * _DIGEST_SIZE : (index + 1) * _DIGEST_SIZE])
        size = self.offsets[index + 1] - self.offsets[index]
        return Chunk(digest, size, self._starts[index], self._ends[index])

    def chunks(self) -> Iterator[Chunk]:
        """All that are not zeros, in the order of the file."""
        for index in range(len(self)):
            chunk = self.chunk(index)
            if chunk is not None:
                yield chunk
