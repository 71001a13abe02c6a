"""A file in a zstd:chunked layer, read at any place through its chunks."""

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from ingot.images.chunk import Chunk, Chunks
from ingot.images.content import Extent
from ingot.images.fault import ImageFault
from ingot.images.zstd_chunked.pieces import Pieces


@runtime_checkable
class FillingChunks(Protocol):
    """Chunks that can be had without a copy."""

    def fill(self, chunks: Sequence[Chunk], places: Sequence[memoryview]) -> None:
        """As fetch, into memory that is there: a place of its size for each chunk."""


class ChunkedFile:
    """A file made of `pieces`, whose chunks come from wherever `chunks` has them. It is stored in its own order."""

    def __init__(self, subject: str, pieces: Pieces, chunks: Chunks) -> None:
        self._subject = subject
        self.pieces = pieces
        self.chunks = chunks
        # The chunk that was read last in part, and where it begins: headers and tables are read in small pieces.
        self._kept = (-1, memoryview(b""))

    @property
    def size(self) -> int:
        return self.pieces.size

    def readinto(self, start: int, buffer: memoryview) -> None:
        end = start + len(buffer)
        if end > self.size:
            raise ImageFault(self._subject, "Truncated", f"bytes up to {end} are wanted of {self.size}")
        wanted: list[tuple[int, Chunk]] = []
        for offset, length, chunk in self._between(start, end):
            if chunk is None:
                first, last = max(offset, start), min(offset + length, end)
                buffer[first - start : last - start] = bytes(last - first)
            else:
                wanted.append((offset, chunk))
        if isinstance(self.chunks, FillingChunks):
            self._fill(self.chunks, start, buffer, wanted)
        else:
            contents = self.chunks.fetch([chunk for _, chunk in wanted])
            for (offset, _), content in zip(wanted, contents, strict=True):
                _place(buffer, offset - start, content)

    def _fill(self, chunks: FillingChunks, start: int, buffer: memoryview, wanted: list[tuple[int, Chunk]]) -> None:
        """Chunks that are wanted as a whole go straight to the buffer."""
        missing: list[Chunk] = []
        places: list[memoryview] = []
        parts: list[tuple[int, memoryview]] = []
        kept, content = self._kept
        for offset, chunk in wanted:
            at = offset - start
            if offset == kept:
                parts.append((offset, content))
                continue
            missing.append(chunk)
            if at >= 0 and at + chunk.size <= len(buffer):
                places.append(buffer[at : at + chunk.size])
            else:
                places.append(memoryview(bytearray(chunk.size)))
                parts.append((offset, places[-1]))
        chunks.fill(missing, places)
        for offset, content in parts:
            _place(buffer, offset - start, content)
            self._kept = offset, content

    def _between(self, start: int, end: int) -> Iterator[tuple[int, int, Chunk | None]]:
        """The pieces that a range touches: where each begins in the file, its length, its chunk."""
        pieces = self.pieces
        index = pieces.find(start)
        while index < len(pieces) and pieces.offsets[index] < end:
            offset = pieces.offsets[index]
            yield offset, pieces.offsets[index + 1] - offset, pieces.chunk(index)
            index += 1

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        pieces = self.pieces
        index = pieces.find(start)
        while start < end:
            zeros = pieces.is_zeros(index)
            while index < len(pieces) and pieces.offsets[index] < end and pieces.is_zeros(index) is zeros:
                index += 1
            stop = min(pieces.offsets[index], end)
            yield Extent(start, stop - start, not zeros, start)
            start = stop

    def close(self) -> None:
        """Nothing is held."""


def _place(buffer: memoryview, at: int, content: bytes | memoryview) -> None:
    """Puts content that begins at `at` of the buffer, perhaps before it, there as far as it reaches."""
    content = content[max(-at, 0) : len(buffer) - at]
    at = max(at, 0)
    buffer[at : at + len(content)] = content
