"""A file in a zstd:chunked layer, read at any place through its chunks."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Protocol, runtime_checkable

from ingot.images.chunk import Chunk, Chunks
from ingot.images.content import Extent
from ingot.images.fault import ImageFault
from ingot.images.zstd_chunked.parts import Part, Parts
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
        # Headers and tables are read in small pieces; and those who copy the file end where no chunk does.
        self._parts = Parts()

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
        parts: list[Part] = []
        own: list[Part] = []
        try:
            for offset, chunk in wanted:
                at = offset - start
                if at >= 0 and at + chunk.size <= len(buffer):
                    place = buffer[at : at + chunk.size]
                else:
                    part, is_own = self._parts.claim(offset, chunk.size)
                    parts.append(part)
                    if not is_own:
                        continue
                    own.append(part)
                    place = part.place
                missing.append(chunk)
                places.append(place)
            chunks.fill(missing, places)
        except BaseException as error:
            for part in own:
                self._parts.fail(part, error)
            raise
        for part in own:
            part.fetched.set_result(None)
        for part in parts:
            self._parts.take(part, partial(_place, buffer, part.offset - start))

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


def _place(buffer: memoryview, at: int, content: bytes | memoryview) -> int:
    """Puts content that begins at `at` of the buffer, perhaps before it, there as far as it reaches; how much that
    is."""
    content = content[max(-at, 0) : len(buffer) - at]
    at = max(at, 0)
    buffer[at : at + len(content)] = content
    return len(content)
