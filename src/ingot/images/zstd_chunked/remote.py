"""Chunks from the blob that holds them: neighbours in one request, each inflated and verified."""

import hashlib
from collections.abc import Iterator, Sequence

from backports import zstd

from ingot.images.blob import Blob, Bytes
from ingot.images.chunk import Chunk
from ingot.images.fault import ImageFault

# Memory for one request. More would not make it quicker: a request of this size takes longer than its latency.
MOST_READ = 4 << 20
# Bytes between two chunks that are cheaper to read than a request of its own: frames of zeros in foreign layers.
_GAP = 4096


class RemoteChunks:
    """Chunks of one blob. It keeps nothing, so any number of threads can ask."""

    def __init__(self, blob: Blob) -> None:
        self.blob = blob

    def fetch(self, chunks: Sequence[Chunk]) -> Iterator[bytes]:
        for run in runs(chunks):
            start = run[0].start
            data = memoryview(self.blob.read(start, run[-1].end - start))
            for chunk in run:
                yield open_chunk(self.blob.subject, chunk, data[chunk.start - start : chunk.end - start])


def runs(chunks: Sequence[Chunk]) -> Iterator[Sequence[Chunk]]:
    """Parts of the list that are neighbours in the blob and together no more than MOST_READ."""
    first = 0
    for index in range(1, len(chunks) + 1):
        if index < len(chunks) and _joins(chunks[index - 1], chunks[index], chunks[first].start):
            continue
        if index > first:
            yield chunks[first:index]
        first = index


def _joins(before: Chunk, chunk: Chunk, start: int) -> bool:
    return 0 <= chunk.start - before.end <= _GAP and chunk.end - start <= MOST_READ


def open_chunk(subject: str, chunk: Chunk, data: Bytes) -> bytes:
    """The bytes of a chunk from its compressed ones. Raises ImageFault when they are others than they should be."""
    content = _inflate(subject, chunk, data)
    if hashlib.sha256(content).digest() != chunk.digest:
        raise ImageFault(subject, "WrongDigest", f"the chunk at byte {chunk.start} is not what the image says it is")
    return content


def _inflate(subject: str, chunk: Chunk, data: Bytes) -> bytes:
    content = b""
    try:
        while True:
            # One byte more than wanted is enough to see that there are too many.
            decompressor = zstd.ZstdDecompressor()
            content += decompressor.decompress(data, chunk.size + 1 - len(content))
            data = decompressor.unused_data
            if not data or len(content) > chunk.size:
                break
    except (zstd.ZstdError, EOFError) as error:
        raise _bad(subject, chunk, str(error)) from error
    if len(content) != chunk.size or not decompressor.eof:
        raise _bad(subject, chunk, f"it does not inflate to its {chunk.size} bytes")
    return content


def _bad(subject: str, chunk: Chunk, why: str) -> ImageFault:
    return ImageFault(subject, "BadChunk", f"the chunk at byte {chunk.start} cannot be inflated: {why}")
