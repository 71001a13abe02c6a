"""The disk of the version before: what is still there, at its place or moved together, is not fetched.

No table of the old disk is needed, and it may be the disk of any image, or of none. Versions that were written one over
the other have most bytes at the same places, whatever the order of the clusters in their images. Versions that were
built anew have them moved by a few distances: whatever grows moves all that is behind it.
"""

import contextlib
import hashlib
import logging
import os
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ingot.images.chunk import CHUNK_SIZE, Chunk
from ingot.images.content import FileContent
from ingot.images.fault import ImageFault
from ingot.images.pipeline.local import open_volume
from ingot.images.seeds import Place

log = logging.getLogger(__name__)

# What filesystems move at once. One of these in each CHUNK_SIZE of the old disk is known, and one of those of a chunk
# that was moved is at such a place, wherever it was moved to.
_BLOCK = 4096
# Distances that are tried, those first that were right last. Debian, built anew with 10 MB more, has three that matter.
_MOST_SHIFTS = 8
# So many are learnt in all. A disk that was made for it would have one for each chunk, and keep us busy.
_MOST_LESSONS = 64


class Previous:
    """A raw disk, open at `descriptor`, of which nothing is believed: every chunk is verified when it is read. For any
    number of threads, once `expect` was called."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        # Whatever becomes of its name.
        self._path = Path(f"/proc/self/fd/{descriptor}")
        self._places: dict[bytes, int] = {}
        self._found: dict[bytes, Place] = {}
        self._shifts: tuple[int, ...] = (0,)
        self._lessons = _MOST_LESSONS
        self._blocks: dict[int, int] | None = None
        self._lock = threading.Lock()

    def expect(self, chunks: Iterable[tuple[int, Chunk]]) -> None:
        """Where on the new disk its chunks are: that is where they are looked for first."""
        for offset, chunk in chunks:
            self._places.setdefault(chunk.digest, offset)

    def find(self, digest: bytes) -> Place | None:
        """Where a chunk was that `get` gave; whoever reads it again has to verify it."""
        return self._found.get(digest)

    def get(self, chunk: Chunk, shifts: Iterable[int] | None = None) -> bytes | None:
        """The bytes of the chunk, verified, or None; looked for at all shifts that are known, or at these only."""
        expected = self._places.get(chunk.digest)
        if expected is None:
            return None
        for shift in self._shifts if shifts is None else shifts:
            place = Place(self._path, expected + shift, chunk.size)
            data = self._read(place)
            if hashlib.sha256(data).digest() == chunk.digest:
                self._found[chunk.digest] = place
                self._prefer(shift)
                return data
        return None

    @property
    def shifts(self) -> frozenset[int]:
        """How far from their places chunks are looked for."""
        return frozenset(self._shifts)

    def learn(self, chunks: Sequence[Chunk], contents: Sequence[memoryview]) -> None:
        """Looks where on the disk chunks are that were not found, so that their neighbours are."""
        if not self._places or not self._lessons:
            return
        with self._lock:
            if self._blocks is None:
                self._blocks = self._known()
        for chunk, content in zip(chunks, contents, strict=True):
            expected = self._places.get(chunk.digest)
            for start in range(0, chunk.size - _BLOCK + 1, _BLOCK) if expected is not None else ():
                at = self._blocks.get(zlib.crc32(content[start : start + _BLOCK]))
                if at is not None and expected is not None:
                    self._prefer(at - start - expected)

    def _prefer(self, shift: int) -> None:
        if self._shifts[0] == shift:
            return
        with self._lock:
            others = [each for each in self._shifts if each != shift]
            if len(others) == len(self._shifts):
                if not self._lessons:
                    return
                self._lessons -= 1
            self._shifts = (shift, *others)[:_MOST_SHIFTS]

    def _known(self) -> dict[int, int]:
        """Where on the disk its blocks are, of each CHUNK_SIZE the first, as far as there is one alone of its sort."""
        end = max(self._places.values(), default=0) + CHUNK_SIZE
        found: dict[int, int] = {}
        several = {zlib.crc32(bytes(_BLOCK))}
        with contextlib.suppress(OSError), FileContent(self._path) as disk:
            for extent in disk.extents(0, min(disk.size, end)):
                first = -(-extent.start // CHUNK_SIZE) * CHUNK_SIZE
                for at in range(first, extent.end, CHUNK_SIZE) if extent.data else ():
                    block = zlib.crc32(self._read(Place(self._path, at, _BLOCK)))
                    if block in found:
                        several.add(block)
                    found[block] = at
        return {block: at for block, at in found.items() if block not in several}

    def _read(self, place: Place) -> bytes:
        try:
            return os.pread(self._descriptor, place.size, place.offset) if place.offset >= 0 else b""
        except OSError:
            return b""


@contextlib.contextmanager
def open_previous(disk: Path, *, device: bool) -> Iterator[Previous | None]:
    """The disk of a volume, in a file or on a device; None for one that cannot be read, or is something else. An import
    is none the worse without it."""
    try:
        descriptor = open_volume(disk, device)
    except (OSError, ImageFault) as error:
        log.warning("%s is not used as the disk of the version before: %s", disk, error)
        yield None
        return
    try:
        yield Previous(descriptor)
    finally:
        os.close(descriptor)
