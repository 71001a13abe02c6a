"""Chunks that are in memory, for readers who would rather do something else than wait."""

from collections.abc import Iterator, Sequence

from ingot.images.chunk import Chunk
from ingot.images.content import NotNear
from ingot.images.lazy.chunks import LazyChunks


class NearChunks:
    """The same chunks as those of a lazy image, or NotNear."""

    def __init__(self, chunks: LazyChunks) -> None:
        self._chunks = chunks

    def fetch(self, chunks: Sequence[Chunk]) -> Iterator[bytes | memoryview]:
        if not self._chunks.near(chunks):
            raise NotNear
        return self._chunks.fetch(chunks)
