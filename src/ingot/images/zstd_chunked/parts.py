"""Chunks that are read part by part, by several threads: each is fetched once for all of them."""

import threading
from collections.abc import Callable
from concurrent.futures import Future

# Two of the largest chunks. Most go sooner, when all of them was taken.
_MOST = 32 << 20


class Part:
    """A chunk of which somebody wants a part; `offset` is where it begins in the file. Its bytes are put into `place`
    by the one who has claimed it first."""

    def __init__(self, offset: int, size: int) -> None:
        self.offset = offset
        self.place = memoryview(bytearray(size))
        self.left = size
        self.fetched: Future[None] = Future()


class Parts:
    """The chunks of one file that are on their way, or will be wanted once more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[int, Part] = {}
        self._size = 0

    def claim(self, offset: int, size: int) -> tuple[Part, bool]:
        """A chunk; and whether the caller has to fetch it, and to say how that ended."""
        with self._lock:
            if (kept := self._kept.get(offset)) is not None:
                return kept, False
            part = self._kept[offset] = Part(offset, size)
            self._size += size
            while self._size > _MOST and (oldest := next(iter(self._kept.values()))) is not part:
                self._forget(oldest)
            return part, True

    def fail(self, part: Part, error: BaseException) -> None:
        """It could not be fetched: who waits for it gets the error, and who comes later tries again."""
        with self._lock:
            self._forget(part)
        part.fetched.set_exception(error)

    def take(self, part: Part, copy: Callable[[memoryview], int]) -> None:
        """Gives the chunk to `copy` when it is there, which says how many of its bytes it took. Raises what the one
        raised who should have fetched it."""
        part.fetched.result()
        count = copy(part.place)
        with self._lock:
            part.left -= count
            if part.left <= 0:
                self._forget(part)

    def _forget(self, part: Part) -> None:
        if self._kept.get(part.offset) is part:
            del self._kept[part.offset]
            self._size -= len(part.place)
