"""Chunks that this machine has already are not fetched: those in its cache, and those in disks that it has."""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ingot.images.cache import Cache
from ingot.images.chunk import Chunk
from ingot.images.content import Content
from ingot.images.disk import open_disk
from ingot.images.fault import ImageFault
from ingot.images.seeds import Place, Seeds, register
from ingot.images.zstd_chunked.layer import FillingChunks
from ingot.images.zstd_chunked.pieces import Pieces

if TYPE_CHECKING:
    from ingot.images.pipeline.previous import Previous

log = logging.getLogger(__name__)

# The list of these disks, in the directory of the cache.
_SEEDS = "seeds"
# Of more chunks than these a few are fetched first, then twice as many: they may tell where the others are on the
# previous disk. Each request costs a registry and a line more than a few chunks that need not have been fetched.
_MANY, _FIRST = 8, 4
# A chunk, and where its bytes go.
_Wanted = tuple[Chunk, memoryview]


def open_seeds(cache: Path) -> Seeds:
    """The disks that chunks can be had from."""
    return Seeds(cache / _SEEDS)


class LocalChunks:
    """Chunks from the disk of the `previous` version, from the disks of `seeds`, from the `cache`, or else from
    `remote`. For any number of threads. `found` counts the bytes that were here."""

    def __init__(
        self, remote: FillingChunks, previous: "Previous | None", seeds: Seeds | None, cache: Cache | None
    ) -> None:
        self._remote = remote
        self._previous = previous
        self._seeds = seeds
        self._cache = cache
        self._lock = threading.Lock()
        self.found = 0

    def find(self, digest: bytes) -> Place | None:
        """Where on a disk a chunk should be; whoever reads it there has to verify it."""
        place = self._previous.find(digest) if self._previous else None
        return place or (self._seeds.find(digest) if self._seeds else None)

    def fetch(self, chunks: Sequence[Chunk]) -> Iterator[memoryview]:
        places = [memoryview(bytearray(chunk.size)) for chunk in chunks]
        self.fill(chunks, places)
        yield from places

    def fill(self, chunks: Sequence[Chunk], places: Sequence[memoryview]) -> None:
        """As RemoteChunks has it."""
        known = self._previous.shifts if self._previous else frozenset()
        missing = self._take(list(zip(chunks, places, strict=True)), self._near)
        if self._previous is None:
            self._fetch(missing)
        else:
            self._follow(self._previous, missing, known)

    def _follow(self, previous: "Previous", missing: list[_Wanted], known: frozenset[int]) -> None:
        """Fetches much that is missing bit by bit: the first bit may tell where the rest is on the previous disk."""
        turn = _FIRST if len(missing) > _MANY else _MANY
        while missing:
            previous.learn(*self._fetch(missing[:turn]))
            missing = missing[turn:]
            turn *= 2
            if news := previous.shifts - known:
                known |= news
                left = self._take(missing, partial(previous.get, shifts=news))
                turn = _FIRST if len(left) < len(missing) else turn
                missing = left

    def _fetch(self, missing: list[_Wanted]) -> tuple[list[Chunk], list[memoryview]]:
        chunks, places = [chunk for chunk, _ in missing], [place for _, place in missing]
        self._remote.fill(chunks, places)
        return chunks, places

    def _take(self, wanted: list[_Wanted], near: Callable[[Chunk], bytes | None]) -> list[_Wanted]:
        """Fills the places of what is here; those that are left."""
        missing = []
        found = 0
        for chunk, place in wanted:
            data = near(chunk)
            if data is not None and len(data) == len(place):
                place[:] = data
                found += len(data)
            else:
                missing.append((chunk, place))
        with self._lock:
            self.found += found
        return missing

    def _near(self, chunk: Chunk) -> bytes | None:
        data = self._previous.get(chunk) if self._previous else None
        if data is None and self._seeds is not None:
            data = self._seeds.get(chunk.digest)
        return self._cache.get(chunk.digest) if data is None and self._cache is not None else data


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
