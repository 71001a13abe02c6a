"""Chunks from the blob that holds them: neighbours in one request, each inflated and verified."""

import contextlib
import hashlib
import itertools
import threading
from collections.abc import Iterator, Sequence
from functools import partial

from ingot.images.blob import Blob, Bytes
from ingot.images.chunk import Chunk
from ingot.images.fault import ImageFault
from ingot.images.large_memory import large_memory
from ingot.images.registry.failover import read_checked
from ingot.images.zstd_chunked.libzstd import BadFrame, adjacent, inflate_into, inflate_over

# Memory for one request. Debian's registry works 5 ms for each, however small, as it takes 4 MiB of fresh memory.
MOST_READ = 8 << 20
# What a request inflates to at most: as much as the largest chunk. Zeros are 30 000 times their compressed bytes.
MOST_INFLATED = 16 << 20
# Chunks that are inflated in one go: 1 MiB of ours, which fits a processor's cache.
_TOGETHER = 16
# Bytes between two chunks that are cheaper to read than a request of its own: frames of zeros in foreign layers.
_GAP = 4096
_LEAST_SCRATCH = 2 << 20
_thread = threading.local()


class RemoteChunks:
    """Chunks of one blob. It keeps nothing, so any number of threads can ask. A mirror that has chunks which are not
    what they should be is left; `behind`: the blob that has the mirrors, where `blob` is around it."""

    def __init__(self, blob: Blob, behind: Blob | None = None) -> None:
        self.blob = blob
        self._behind = behind

    def fetch(self, chunks: Sequence[Chunk]) -> Iterator[memoryview]:
        for run in runs(chunks):
            places = [memoryview(bytearray(chunk.size)) for chunk in run]
            self._read(run, places)
            yield from places

    def fill(self, chunks: Sequence[Chunk], places: Sequence[memoryview]) -> None:
        """As fetch, into memory that is there: a place of its size for each chunk."""
        done = 0
        for run in runs(chunks):
            self._read(run, places[done : done + len(run)])
            done += len(run)

    def _read(self, run: Sequence[Chunk], places: Sequence[memoryview]) -> None:
        start = run[0].start
        data = _scratch(run[-1].end - start)
        read_checked(self.blob, start, data, partial(_inflate_run, self.blob.subject, run, data, places), self._behind)


def _scratch(size: int) -> memoryview:
    """Memory for compressed bytes, the thread's own and used again: fresh one costs a tenth of the import."""
    if len(getattr(_thread, "memory", b"")) < size:
        _thread.memory = large_memory(max(size, _LEAST_SCRATCH))
    return memoryview(_thread.memory)[:size]


def runs(chunks: Sequence[Chunk]) -> Iterator[Sequence[Chunk]]:
    """Parts of the list that are neighbours in the blob and together no more than MOST_READ, nor than MOST_INFLATED."""
    first = inflated = 0
    for index, chunk in enumerate(chunks):
        joins = index > first and _joins(chunks[index - 1], chunk, chunks[first].start)
        if index > first and not (joins and inflated + chunk.size <= MOST_INFLATED):
            yield chunks[first:index]
            first, inflated = index, 0
        inflated += chunk.size
    if chunks:
        yield chunks[first:]


def _joins(before: Chunk, chunk: Chunk, start: int) -> bool:
    return 0 <= chunk.start - before.end <= _GAP and chunk.end - start <= MOST_READ


def open_chunk(subject: str, chunk: Chunk, data: Bytes) -> memoryview:
    """The bytes of a chunk from its compressed ones. Raises ImageFault when they are others than they should be."""
    place = memoryview(bytearray(chunk.size))
    _inflate(subject, chunk, memoryview(bytearray(data)), place)
    return place


def _inflate_run(subject: str, run: Sequence[Chunk], data: memoryview, places: Sequence[memoryview]) -> None:
    start = run[0].start
    for first in range(0, len(run), _TOGETHER):
        chunks = run[first : first + _TOGETHER]
        frames = data[chunks[0].start - start : chunks[-1].end - start]
        _inflate_all(subject, chunks, frames, places[first : first + _TOGETHER])


def _inflate_all(subject: str, chunks: Sequence[Chunk], data: memoryview, places: Sequence[memoryview]) -> None:
    """Chunks that are neighbours here and there are inflated in one go: threads that work on many small pieces wait for
    each other more than they work."""
    if _neighbours(chunks) and adjacent(places):
        with contextlib.suppress(BadFrame):
            if inflate_over(data, places) == sum(chunk.size for chunk in chunks):
                for chunk, place in zip(chunks, places, strict=True):
                    _verify(subject, chunk, place)
                return
    start = chunks[0].start
    for chunk, place in zip(chunks, places, strict=True):
        _inflate(subject, chunk, data[chunk.start - start : chunk.end - start], place)


def _neighbours(chunks: Sequence[Chunk]) -> bool:
    return all(before.end == chunk.start for before, chunk in itertools.pairwise(chunks))


def _inflate(subject: str, chunk: Chunk, data: memoryview, place: memoryview) -> None:
    try:
        count = inflate_into(data, place)
    except BadFrame as error:
        raise _bad(subject, "BadChunk", chunk, f"does not inflate to its {chunk.size} bytes ({error})") from None
    if count != chunk.size:
        raise _bad(subject, "BadChunk", chunk, f"inflates to {count} bytes instead of {chunk.size}")
    _verify(subject, chunk, place)


def _verify(subject: str, chunk: Chunk, place: memoryview) -> None:
    if hashlib.sha256(place).digest() != chunk.digest:
        raise _bad(subject, "WrongDigest", chunk, "is not what the image says it is")


def _bad(subject: str, reason: str, chunk: Chunk, why: str) -> ImageFault:
    """Registries keep a blob that they have, whatever has become of it, and take the same one for there already."""
    cure = "have its registry delete that blob and push the image anew, or push it with another --level"
    return ImageFault(subject, reason, f"the chunk at byte {chunk.start} {why}: try again; if it stays so, {cure}")
