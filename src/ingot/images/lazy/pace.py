"""How fast what nobody waits for may be fetched."""

import threading
import time
from collections.abc import Callable


class Pace:
    """At most `rate` bytes a second for all who keep to it together, 0 for no limit. Time in which nothing was moved is
    not made up for. Any number of threads may use it."""

    def __init__(self, rate: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self.clock = clock
        self._due = 0.0
        self._lock = threading.Lock()

    def spend(self, moved: int, began: float) -> float:
        """Takes note of bytes that were moved since `began`, by the clock; how many seconds to wait for the next."""
        if not self._rate:
            return 0.0
        with self._lock:
            self._due = max(self._due, began) + moved / self._rate
            return max(self._due - self.clock(), 0.0)
