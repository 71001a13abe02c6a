"""A file in a zstd:chunked layer, read at any place through its chunks."""

from collections.abc import Iterator

from ingot.images.chunk import Chunk, Chunks
from ingot.images.content import Extent
from ingot.images.fault import ImageFault
from ingot.images.zstd_chunked.pieces import Pieces


class ChunkedFile:
    """A file made of `pieces`, whose chunks come from wherever `chunks` has them. `stored` of its extents is the
    place in the blob."""

    def __init__(self, subject: str, pieces: Pieces, chunks: Chunks) -> None:
        self._subject = subject
        self.pieces = pieces
        self.chunks = chunks

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
                skip = max(start - offset, 0)
                stop = min(offset + length, end) - start
                buffer[offset + skip - start : stop] = bytes(stop - (offset + skip - start))
            else:
                wanted.append((offset, chunk))
        contents = self.chunks.fetch([chunk for _, chunk in wanted])
        for (offset, _), content in zip(wanted, contents, strict=True):
            if offset < start or offset + len(content) > end:
                content = memoryview(content)[max(start - offset, 0) : end - offset]
                offset = max(offset, start)
            buffer[offset - start : offset - start + len(content)] = content

    def _between(self, start: int, end: int) -> Iterator[tuple[int, int, Chunk | None]]:
        """The pieces that a range touches: where each begins in the file, its length, its chunk."""
        pieces = self.pieces
        index = pieces.find(start)
        while index < len(pieces) and pieces.offsets[index] < end:
            offset = pieces.offsets[index]
            yield offset, pieces.offsets[index + 1] - offset, pieces.chunk(index)
            index += 1

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        found: Extent | None = None
        stored = 0
        for offset, length, chunk in self._between(start, end):
            begin, stop = max(offset, start), min(offset + length, end)
            stored = stored if chunk is None else chunk.start
            if found is not None and found.data is (chunk is not None):
                found = Extent(found.start, stop - found.start, found.data, found.stored)
                continue
            if found is not None:
                yield found
            found = Extent(begin, stop - begin, chunk is not None, stored)
        if found is not None:
            yield found

    def close(self) -> None:
        """Nothing is held."""
