"""Chunks in memory, those used last."""

import threading
import time
from collections import OrderedDict

# Of one image, and of all images of a process that share it.
MEMORY = 64 << 20
ALL_MEMORY = 256 << 20
# An image that nobody has read for so long gives way first.
_IDLE_SECONDS = 30.0


class Memory:
    """At most `limit` bytes of chunks by number, fewer where other images need them of what is `shared` with them. Any
    number of threads may use it.

    `used`: when it was last read; what comes ahead of readers does not count."""

    def __init__(self, limit: int = MEMORY, shared: "SharedMemory | None" = None) -> None:
        self.limit = limit
        self._shared = shared
        self.size = 0
        self.used = 0.0
        self._lock = threading.Lock()
        self._chunks: OrderedDict[int, bytes | memoryview] = OrderedDict()

    def __contains__(self, number: int) -> bool:
        return number in self._chunks

    def get(self, number: int) -> bytes | memoryview | None:
        with self._lock:
            data = self._chunks.get(number)
            if data is not None:
                self._chunks.move_to_end(number)
                self.used = time.monotonic()
            return data

    def peek(self, number: int) -> bytes | memoryview | None:
        """As get, for one who does not read."""
        return self._chunks.get(number)

    def put(self, number: int, data: bytes | memoryview, read: bool) -> None:
        """`read`: whether a reader waits for it."""
        with self._lock:
            if number in self._chunks:
                return
            before = self.size
            self._chunks[number] = data
            if read:
                self.used = time.monotonic()
            self.size += len(data)
            while self.size > self.limit:
                self._drop()
            grown = self.size - before
        if self._shared is not None and grown:
            self._shared.grow(self, grown)

    def shed(self) -> int:
        """Lets go of the chunk that was used least recently; how many bytes it had."""
        with self._lock:
            return self._drop() if self._chunks else 0

    def close(self) -> None:
        """Lets go of all, and keeps nothing any more."""
        with self._lock:
            self.limit = 0
            left, self.size = self.size, 0
            self._chunks.clear()
        if self._shared is not None:
            self._shared.leave(self, left)

    def _drop(self) -> int:
        _, oldest = self._chunks.popitem(last=False)
        self.size -= len(oldest)
        return len(oldest)


class SharedMemory:
    """At most `limit` bytes of chunks for all images together. Of those that nobody reads, and else of all, the one
    that has most gives way. Any number of threads may use it."""

    def __init__(self, limit: int = ALL_MEMORY) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._parts: set[Memory] = set()
        self.size = 0

    def grow(self, part: Memory, size: int) -> None:
        """A part has so many bytes more, or fewer."""
        with self._lock:
            if part.limit:
                self._parts.add(part)
            self.size += size
            while self.size > self._limit and self._parts and (shed := self._first_to_give_way().shed()):
                self.size -= shed

    def _first_to_give_way(self) -> Memory:
        recent = time.monotonic() - _IDLE_SECONDS
        return max(self._parts, key=lambda part: (part.size > 0, part.used < recent, part.size))

    def leave(self, part: Memory, size: int) -> None:
        """A part with so many bytes is no more."""
        with self._lock:
            self._parts.discard(part)
            self.size -= size
