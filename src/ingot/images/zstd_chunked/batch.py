"""Chunks of a file, read and compressed by several threads, in the order of the file."""

import hashlib
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from backports import zstd

from ingot.images.content import Content, read

# One unit of work for a thread.
_BATCH = 2 << 20


@dataclass(frozen=True, slots=True)
class Batch:
    """The bytes of the file from `start` on, and of each chunk of them the frame and the digest."""

    start: int
    data: bytearray
    frames: list[bytes]
    digests: list[bytes]


def batches(content: Content, chunk: int, level: int, threads: int) -> Iterator[Batch]:
    """All of the content in chunks of `chunk` bytes, the last one shorter. Raises ImageFault."""
    step = max(_BATCH, chunk)
    pool = ThreadPoolExecutor(threads, "compress")
    ahead: deque[Future[Batch]] = deque()
    try:
        for start in range(0, content.size, step):
            ahead.append(pool.submit(_compress, content, start, min(step, content.size - start), chunk, level))
            if len(ahead) > 2 * threads:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _compress(content: Content, start: int, length: int, chunk: int, level: int) -> Batch:
    data = read(content, start, length)
    view = memoryview(data)
    compressor = zstd.ZstdCompressor(level)
    frames, digests = [], []
    for offset in range(0, length, chunk):
        part = view[offset : offset + chunk]
        frames.append(compressor.compress(part, zstd.ZstdCompressor.FLUSH_FRAME))
        digests.append(hashlib.sha256(part).digest())
    return Batch(start, data, frames, digests)
