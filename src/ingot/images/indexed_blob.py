"""Random access to a layer through its index: every span is decompressed from its point, and verified."""

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from ingot.images.blob import Blob
from ingot.images.chunk import Chunk, Chunks
from ingot.images.codec.choice import decompressor
from ingot.images.content import Content, Extent, PartContent
from ingot.images.fault import ImageFault
from ingot.images.gzip_index import Index
from ingot.images.recent import Recent
from ingot.images.registry.failover import read_checked
from ingot.images.zstd_chunked.remote import runs

# Decompressed spans that are kept: readers come with less than a span at a time.
_KEPT = 16


class IndexedChunks:
    """The spans of a blob as Chunks: those of `index.chunks`. It keeps nothing, so any number of threads can ask."""

    def __init__(self, blob: Blob, index: Index) -> None:
        """Raises ImageFault when the blob is not the one of the index."""
        if blob.size != index.blob_size:
            message = f"it has {blob.size} bytes, and {index.blob_size} when its index was made"
            raise ImageFault(blob.subject, "Changed", message)
        self._blob = blob
        self._index = index
        self._positions = [chunk.start for chunk in index.chunks]

    def fetch(self, chunks: Sequence[Chunk]) -> Iterator[memoryview]:
        for run in runs(chunks):
            yield from self._read(run)

    def _read(self, run: Sequence[Chunk]) -> list[memoryview]:
        """From a mirror that has other bytes nothing is taken."""
        start = run[0].start
        data = memoryview(bytearray(run[-1].end - start))
        opened: list[memoryview] = []

        def check() -> None:
            opened[:] = [self._open(chunk, data[chunk.start - start : chunk.end - start]) for chunk in run]

        read_checked(self._blob, start, data, check)
        return opened

    def _open(self, chunk: Chunk, data: memoryview) -> memoryview:
        number = bisect_left(self._positions, chunk.start)
        if number == len(self._positions) or self._index.chunks[number] != chunk:
            raise ImageFault(self._index.subject, "Damaged", f"it has no span at byte {chunk.start} of the blob")
        codec = decompressor(self._index.codec, self._blob.subject)
        codec.resume(self._index.checkpoint(number))
        content = bytearray()
        for piece in codec.decompress(data):
            content += piece
            if len(content) >= chunk.size:
                break
        # What the decompressor had in hand at the span's end comes as well: it is the beginning of the next.
        del content[chunk.size :]
        if len(content) != chunk.size or hashlib.sha256(content).digest() != chunk.digest:
            message = f"the span at byte {chunk.start} of the blob is not what it was when its index was made"
            raise ImageFault(self._blob.subject, "WrongDigest", message)
        return memoryview(content)


class IndexedBlob:
    """What a blob decompresses to, as Content. `stored` of its extents is the place in the blob."""

    def __init__(self, blob: Blob, index: Index, chunks: Chunks | None = None) -> None:
        """`chunks` may be other than the blob itself, such as a cache in front of its IndexedChunks. Raises
        ImageFault when the blob is not the one of the index."""
        self._subject = blob.subject
        self._index = index
        self._chunks = chunks or Recent(IndexedChunks(blob, index), _KEPT)
        self._starts = [span.start for span in index.spans]

    @property
    def size(self) -> int:
        return self._index.size

    @property
    def disk(self) -> Content:
        """The disk in it: the file in the archive, or all of it."""
        member = self._index.member
        return self if member is None else PartContent(self, member.start, member.size)

    def readinto(self, start: int, buffer: memoryview) -> None:
        end = start + len(buffer)
        if start < 0 or end > self.size:
            raise ImageFault(self._subject, "OutOfRange", f"bytes up to {end} are wanted of {self.size}")
        wanted = []
        for number in self._between(start, end):
            if self._index.spans[number].zeros:
                begin, stop = self._within(number, start, end)
                buffer[begin - start : stop - start] = bytes(stop - begin)
            else:
                wanted.append(number)
        contents = self._chunks.fetch([self._index.chunks[number] for number in wanted])
        for number, content in zip(wanted, contents, strict=True):
            begin, stop = self._within(number, start, end)
            first = self._starts[number]
            buffer[begin - start : stop - start] = memoryview(content)[begin - first : stop - first]

    def _between(self, start: int, end: int) -> range:
        """The spans that a range touches."""
        if start >= end:
            return range(0)
        return range(bisect_right(self._starts, start) - 1, bisect_left(self._starts, end))

    def _within(self, number: int, start: int, end: int) -> tuple[int, int]:
        """The part of a span that is within a range."""
        first = self._starts[number]
        return max(first, start), min(first + self._index.chunks[number].size, end)

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        for number in self._between(start, end):
            begin, stop = self._within(number, start, end)
            span = self._index.spans[number]
            yield Extent(begin, stop - begin, not span.zeros, span.position)

    def close(self) -> None:
        """Nothing is held: the index is closed by who opened it."""
