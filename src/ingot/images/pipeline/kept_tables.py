"""The tables of an image, which are in no disk that is made of it, stay in the cache."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ingot.images.chunk import Chunk
from ingot.images.fault import ImageFault
from ingot.images.zstd_chunked.layer import FillingChunks

if TYPE_CHECKING:
    from ingot.images.cache import Cache


class KeptTables:
    """Chunks from `remote`. Those that are fetched before `end` are of the image's tables and go to the cache:
    with what is in the disk, who reads the image lazily has all of it on this machine then. Any number of threads may
    ask."""

    def __init__(self, remote: FillingChunks, cache: Path | None) -> None:
        """Without a cache nothing is kept."""
        self._remote = remote
        self._directory = cache

    def fetch(self, chunks: Sequence[Chunk]) -> Iterator[memoryview]:
        places = [memoryview(bytearray(chunk.size)) for chunk in chunks]
        self.fill(chunks, places)
        yield from places

    def fill(self, chunks: Sequence[Chunk], places: Sequence[memoryview]) -> None:
        """As RemoteChunks has it."""
        self._remote.fill(chunks, places)
        if self._directory is not None and chunks and (cache := self._cache) is not None:
            for chunk, place in zip(chunks, places, strict=True):
                cache.put(chunk.digest, place)

    def end(self) -> None:
        """All tables were read; what follows is in the disk."""
        self._directory = None

    @cached_property
    def _cache(self) -> "Cache | None":
        """One for all tables: what is wrong with it is told once."""
        from ingot.images.cache import Cache

        # An import without a cache is none the worse.
        with suppress(ImageFault):
            return Cache(self._directory) if self._directory is not None else None
        return None
