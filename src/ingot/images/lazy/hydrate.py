"""The rest of an image into the cache, in the background."""

import logging
import threading
from collections.abc import Iterator

from ingot.images.cache import Cache
from ingot.images.fault import ImageFault
from ingot.images.lazy.chunks import LazyChunks
from ingot.images.lazy.pace import Pace
from ingot.images.lazy.room import Room
from ingot.images.zstd_chunked.remote import MOST_INFLATED

# How often a hydration looks whether readers have enough.
_LOOK_SECONDS = 0.05
# Chunks that are asked for together.
_BATCH = 8
# A registry that is away is left alone for so long at first, and at most.
_AGAIN_SECONDS = 2.0
_MOST_SECONDS = 60.0

log = logging.getLogger(__name__)


class Hydrator:
    """Fetches what is not in the cache, in the order of the blob, while nobody waits, at a pace that others may share.
    It ends by itself; `done` is set when all is there that the cache takes. A chunk that the cache has no room for
    beside the rest of the image is not fetched."""

    def __init__(self, chunks: LazyChunks, cache: Cache, pace: Pace) -> None:
        self.done = threading.Event()
        self._chunks = chunks
        self._cache = cache
        self._pace = pace
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="hydrate", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """What is not there yet is left."""
        self._closed.set()

    def join(self) -> None:
        """After `stop`: waits until the chunks are not used any more."""
        self._thread.join()

    def _run(self) -> None:
        for numbers in self._batches():
            if not self._bring(numbers):
                return
        if not self._closed.is_set():
            self.done.set()

    def _batches(self) -> Iterator[list[int]]:
        """What the cache lacks and has room for: few chunks at a time, which inflate to little."""
        table, room = self._chunks.table, Room(self._cache)
        batch: list[int] = []
        size = left_out = 0
        for number in range(len(table)):
            if self._closed.is_set():
                return
            fits = room.take(table.digest(number), table.size(number))
            if not fits:
                left_out += 1
            elif self._chunks.lacks(number):
                if len(batch) == _BATCH or size + table.size(number) > MOST_INFLATED:
                    yield batch
                    batch, size = [], 0
                batch.append(number)
                size += table.size(number)
        if batch:
            yield batch
        if left_out:
            message = "hydration: the image does not fit a cache of %d bytes: %d of its %d chunks are fetched when they"
            log.warning(message + " are read", self._cache.limit, left_out, len(table))

    def _bring(self, numbers: list[int]) -> bool:
        """Whether there is any use in going on. A chunk that cannot be had is left out."""
        pause = _AGAIN_SECONDS
        while True:
            while self._chunks.busy:
                if self._closed.wait(_LOOK_SECONDS):
                    return False
            began = self._pace.clock()
            try:
                moved, kept = self._chunks.hydrate(numbers)
            except ImageFault as fault:
                if self._closed.is_set():
                    return False
                if not fault.retry:
                    return self._without_bad(numbers, fault)
                if self._closed.wait(pause):
                    return False
                log.info("hydration: %s; it is tried again", fault)
                pause = min(2 * pause, _MOST_SECONDS)
                continue
            if not kept:
                log.warning("hydration: the cache takes no more; the rest of the image is fetched when it is read")
            return kept and not self._closed.wait(self._pace.spend(moved, began))

    def _without_bad(self, numbers: list[int], fault: ImageFault) -> bool:
        if len(numbers) > 1:
            return all(self._bring([number]) for number in numbers)
        log.warning("hydration: %s; it is left out", fault)
        return not self._closed.is_set()
