"""The first contact with a layer that was not made for random access: it is read once, and lazy from then on."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from ingot.images.blob import Blob
from ingot.images.cache import Cache
from ingot.images.codec.decompressor import Decompressor
from ingot.images.container_disk import ContainerDisk
from ingot.images.content import Content, Extent
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.gzip_index import MOST_POINTS, MOST_SPAN, SPAN, Index, IndexBuilder, Obstacle, Span
from ingot.images.indexed_blob import IndexedBlob, IndexedChunks
from ingot.images.lazy.chunks import LazyChunks
from ingot.images.lazy.memory import Memory
from ingot.images.lazy.table import ChunkTable
from ingot.images.registry.failover import read_anew
from ingot.images.tar import Member

Progress = Callable[[int, int], None]


def open_indexed(
    disk: ContainerDisk, blob: Blob, cache: Cache, progress: Progress, memory: Memory, patience: float
) -> tuple[Content, LazyChunks]:
    """The disk's file through the index of its layer, which is made if there is none. `blob`: the layer for readers who
    ask again by themselves. Raises ImageFault."""
    index, read = _index(disk, cache, progress)
    try:
        table = ChunkTable(index.chunks)
        chunks = LazyChunks(IndexedChunks(blob, index), table, cache, memory=memory, patience=patience)
        chunks.figures.whole = read
        return _Indexed(blob, index, chunks), chunks
    except BaseException:
        index.close()
        raise


class _Indexed:
    """The disk's file; its index is closed with it."""

    def __init__(self, blob: Blob, index: Index, chunks: LazyChunks) -> None:
        self._index = index
        self._file = IndexedBlob(blob, index, chunks).disk

    @property
    def size(self) -> int:
        return self._file.size

    def readinto(self, start: int, buffer: memoryview) -> None:
        self._file.readinto(start, buffer)

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        return self._file.extents(start, end)

    def close(self) -> None:
        self._index.close()


def _index(disk: ContainerDisk, cache: Cache, progress: Progress) -> tuple[Index, int]:
    """The index, and how many bytes were read to make it."""
    digest = disk.layer.digest
    with cache.indexes.alone(digest) as path:
        # A damaged one is made again.
        with contextlib.suppress(FileNotFoundError, ImageFault):
            return Index(path, digest), 0
        read = read_anew(disk.blob, lambda: _read_once(disk, path, cache, progress))
        index = Index(path, digest)
    cache.indexes.tidy()
    return index, read


def _read_once(disk: ContainerDisk, path: Path, cache: Cache, progress: Progress) -> int:
    """How many bytes were read."""
    with _Filling(path, disk.layer.digest, disk.blob, cache) as builder, disk.stream(index=builder) as stream:
        for _ in stream:
            progress(stream.fetched, stream.total)
        return stream.fetched


class _Filling(IndexBuilder):
    """Makes an index, and keeps the spans in the cache on the way. Each is known by its own digest: nobody asks for it
    before the index is there, and so the whole layer verified.

    The stream ends with the fault NotLazy as soon as there can be no index: the rest would come for nothing."""

    def __init__(self, path: Path, digest: Digest, blob: Blob, cache: Cache) -> None:
        super().__init__(path, digest, blob.size, cache.indexes.limit)
        self._subject = blob.subject
        self._cache = cache
        self._content = bytearray()

    def add(self, output: bytes | memoryview, codec: Decompressor) -> None:
        self._content += output
        super().add(output, codec)
        self._check()

    def ended(self, span: Span) -> None:
        if not span.zeros:
            self._cache.put(span.digest, bytes(self._content))
        self._content.clear()

    def end(self, member: Member | None) -> None:
        super().end(member)
        self._check()

    def _check(self) -> None:
        match self.obstacle:
            case None:
                return
            case Obstacle.ONE_FRAME:
                why = f"is compressed in one frame, or in frames of more than {MOST_SPAN >> 20} MiB: pull it"
            case Obstacle.POINTS:
                why = f"unpacks to more than {MOST_POINTS * SPAN >> 40} TiB: pull it"
            case Obstacle.LIMIT:
                limit = self._cache.indexes.limit
                why = f"would need an index of more than {limit} bytes, half of --cache-size: give it more, pull it"
        message = f"its layer cannot be read at any place, since it {why}, or push it with `ingot image push`"
        raise ImageFault(self._subject, "NotLazy", message)
