"""The rest of an image into the cache, in the background."""

import logging
import threading
import time

from ingot.images.fault import ImageFault
from ingot.images.lazy.chunks import LazyChunks

# How often a hydration looks whether readers have enough.
_LOOK_SECONDS = 0.05
# Chunks that are asked for together.
_BATCH = 8
# A registry that is away is left alone for so long.
_AGAIN_SECONDS = 2.0

log = logging.getLogger(__name__)


class Hydrator:
    """Fetches what is not in the cache, in the order of the blob, while nobody waits; at most `rate` bytes a second, 0
    for no limit. It ends by itself; `done` is set when all is there that the cache takes."""

    def __init__(self, chunks: LazyChunks, rate: int = 0) -> None:
        self.done = threading.Event()
        self._chunks = chunks
        self._rate = rate
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="hydrate", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """What is not there yet is left."""
        self._closed.set()
        self._thread.join()

    def _run(self) -> None:
        table = self._chunks.table
        begun, moved = time.monotonic(), 0
        for first in range(0, len(table), _BATCH):
            numbers = range(first, min(first + _BATCH, len(table)))
            while lacking := [number for number in numbers if self._chunks.lacks(number)]:
                while self._chunks.busy:
                    if self._closed.wait(_LOOK_SECONDS):
                        return
                try:
                    moved += self._chunks.hydrate(lacking)
                    break
                except ImageFault as fault:
                    if self._closed.wait(_AGAIN_SECONDS):
                        return
                    log.info("hydration: %s; it is tried again", fault)
            due = begun + moved / self._rate if self._rate else 0.0
            if self._closed.wait(max(due - time.monotonic(), 0.0)):
                return
        self.done.set()
