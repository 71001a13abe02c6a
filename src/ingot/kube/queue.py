"""Keys that want work: each at most once, none in two hands, failed ones later and later."""

import asyncio
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from ingot.kube.clock import SYSTEM, Clock, Timer
from ingot.kube.limits import Backoff, TokenBucket

K = TypeVar("K", bound=Hashable)


class Queue(Generic[K]):
    """A first-in first-out queue of keys.

    A key that waits already is not queued twice. A key that is being worked on is queued again only after `done`.
    Everything but `get` returns at once; all of it belongs to one event loop.
    """

    def __init__(
        self,
        *,
        base: float = 0.005,
        cap: float = 300.0,
        rate: float = 10.0,
        burst: int = 100,
        clock: Clock = SYSTEM,
    ) -> None:
        """`base` and `cap` bound the wait of one failing key; `rate` and `burst` that of all failing keys."""
        self._backoff: Backoff[K] = Backoff(base, cap)
        self._bucket = TokenBucket(rate, burst, clock)
        self._clock = clock
        self._ready: OrderedDict[K, None] = OrderedDict()
        self._running: set[K] = set()
        self._again: set[K] = set()
        self._timers: dict[K, tuple[float, Timer]] = {}
        # One permit for each ready key, so that getters wait on the semaphore alone.
        self._permits = asyncio.Semaphore(0)
        self._closed = False

    def __len__(self) -> int:
        """How many keys are ready to be worked on."""
        return len(self._ready)

    def add(self, key: K) -> None:
        if self._closed or key in self._ready:
            return
        if key in self._running:
            self._again.add(key)
            return
        self._ready[key] = None
        self._permits.release()

    def add_after(self, key: K, delay: float) -> None:
        """Add the key in `delay` seconds, or sooner where an earlier call said so."""
        if self._closed:
            return
        if delay <= 0:
            self.add(key)
            return
        due = self._clock.monotonic() + delay
        if key in self._timers:
            earlier, timer = self._timers[key]
            if earlier <= due:
                return
            timer.cancel()
        self._timers[key] = (due, self._clock.call_later(delay, lambda: self._ring(key)))

    def _ring(self, key: K) -> None:
        del self._timers[key]
        self.add(key)

    def retry(self, key: K) -> float:
        """Add the key again after a failure; the seconds until then."""
        delay = max(self._backoff.failed(key), self._bucket.reserve())
        self.add_after(key, delay)
        return delay

    def forget(self, key: K) -> None:
        """The key is well: its next failure counts as its first."""
        self._backoff.succeeded(key)

    def failures(self, key: K) -> int:
        return self._backoff.failures(key)

    async def get(self) -> K | None:
        """The next key, which is ours until `done`; None when the queue is closed."""
        await self._permits.acquire()
        if self._closed:
            self._permits.release()
            return None
        key, _ = self._ready.popitem(last=False)
        self._running.add(key)
        return key

    def done(self, key: K) -> None:
        """Give the key back; if it was added meanwhile it is ready again."""
        self._running.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    def close(self) -> None:
        """Hand out no more keys and take none. What waits is dropped: the next process finds it by listing."""
        self._closed = True
        for _, timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._ready.clear()
        self._permits.release()
