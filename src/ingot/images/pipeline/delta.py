"""Chunks that this machine has already are not fetched: those in its cache, and those in disks that were imported."""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Self

from ingot.images.cache import Cache
from ingot.images.chunk import Chunk
from ingot.images.content import Content
from ingot.images.disk import open_disk
from ingot.images.fault import ImageFault
from ingot.images.seeds import Seeds, register
from ingot.images.zstd_chunked.layer import FillingChunks
from ingot.images.zstd_chunked.pieces import Pieces

log = logging.getLogger(__name__)

# The list of these disks, in the directory of the cache.
_SEEDS = "seeds"


def open_seeds(cache: Path) -> Seeds:
    """The disks that chunks can be had from."""
    return Seeds(cache / _SEEDS)


class LocalChunks:
    """Chunks from the cache in the directory `cache`, from the disks that are listed there, or else from `remote`. For
    any number of threads; a context manager. `found` counts the bytes that were here."""

    def __init__(self, remote: FillingChunks, cache: Path) -> None:
        """The directory must be there."""
        self._remote = remote
        self._cache = Cache(cache)
        self._seeds = open_seeds(cache)
        self._lock = threading.Lock()
        self.found = 0

    def fetch(self, chunks: Sequence[Chunk]) -> Iterator[memoryview]:
        places = [memoryview(bytearray(chunk.size)) for chunk in chunks]
        self.fill(chunks, places)
        yield from places

    def fill(self, chunks: Sequence[Chunk], places: Sequence[memoryview]) -> None:
        """As RemoteChunks has it."""
        missing: list[Chunk] = []
        absent: list[memoryview] = []
        found = 0
        for chunk, place in zip(chunks, places, strict=True):
            data = self._seeds.get(chunk.digest) or self._cache.get(chunk.digest)
            if data is not None and len(data) == len(place):
                place[:] = data
                found += len(data)
            else:
                missing.append(chunk)
                absent.append(place)
        with self._lock:
            self.found += found
        self._remote.fill(missing, absent)

    def close(self) -> None:
        self._seeds.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def places(disk: Content, pieces: Pieces) -> Iterator[tuple[int, Chunk]]:
    """Where on a disk the chunks are of the file that it is decoded from, as far as they are there in one piece."""
    for extent in disk.extents(0, disk.size):
        if not extent.data:
            continue
        end = extent.stored + extent.length
        index = pieces.find(extent.stored)
        while index < len(pieces) and pieces.offsets[index] < end:
            at, chunk = pieces.offsets[index], pieces.chunk(index)
            if chunk is not None and extent.stored <= at and at + chunk.size <= end:
                yield extent.start + at - extent.stored, chunk
            index += 1


def stored(disk: Content, found: Iterable[tuple[int, Chunk]]) -> Iterator[tuple[int, Chunk]]:
    """Where in the file that a disk is decoded from its chunks are, which are at these ascending places of the disk, as
    far as they are there in one piece."""
    extents = disk.extents(0, disk.size)
    extent = next(extents, None)
    for place, chunk in found:
        while extent is not None and extent.end <= place:
            extent = next(extents, None)
        if extent is None:
            return
        if extent.data and extent.start <= place and place + chunk.size <= extent.end:
            yield extent.stored + place - extent.start, chunk


class Listing:
    """Lists a disk, in a file of a `format` or a raw one on a device, as a source of chunks for later imports. What is
    to be listed is found in a thread, while the disk is made; one that cannot be listed is none the worse. A context
    manager."""

    def __init__(self, cache: Path, disk: Path, format: str, chunks: Callable[[], Iterable[tuple[int, Chunk]]]) -> None:
        self._directory = cache / _SEEDS
        self._disk = disk.absolute()
        self._format = format
        self._chunks = chunks
        self._found: list[tuple[int, Chunk]] = []
        self._thread = threading.Thread(target=self._find, name="list", daemon=True)
        self._thread.start()

    def _find(self) -> None:
        try:
            self._found = list(self._chunks())
        except ImageFault as fault:
            log.warning("%s is not listed as a source of chunks: %s", self._disk, fault)

    def write(self) -> None:
        """Call it when the disk is there."""
        self._thread.join()
        try:
            register(self._directory, self._disk, self._stored())
        except (OSError, ImageFault) as error:
            log.warning("%s is not listed as a source of chunks: %s", self._disk, error)

    def _stored(self) -> list[tuple[int, Chunk]]:
        """Where in the file the chunks are; on a raw disk, where they were found."""
        if self._format == "raw":
            return self._found
        with closing(open_disk(self._disk, self._format)) as disk:
            return list(stored(disk, self._found))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()
