"""How often, and how soon again."""

import random
from collections.abc import Hashable
from typing import Generic, TypeVar

from ingot.kube.clock import SYSTEM, Clock

K = TypeVar("K", bound=Hashable)


class TokenBucket:
    """`burst` at once, then `rate` a second."""

    def __init__(self, rate: float, burst: float, clock: Clock = SYSTEM) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._tokens = burst
        self._at = clock.monotonic()

    def _refill(self) -> None:
        now = self._clock.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate)
        self._at = now

    def take(self) -> bool:
        """Take a token if there is one."""
        self._refill()
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def reserve(self) -> float:
        """Take a token that may not be there yet; the seconds until it is."""
        self._refill()
        self._tokens -= 1
        return max(0.0, -self._tokens / self._rate)


class Backoff(Generic[K]):
    """Per key: `base` seconds after the first failure, twice that after the next, never more than `cap`."""

    def __init__(self, base: float, cap: float) -> None:
        self._base = base
        self._cap = cap
        self._failures: dict[K, int] = {}

    def failed(self, key: K) -> float:
        """Note a failure; the seconds to wait before the next try."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        return self._cap if failures > 60 else min(self._cap, self._base * 2.0**failures)

    def failures(self, key: K) -> int:
        return self._failures.get(key, 0)

    def succeeded(self, key: K) -> None:
        self._failures.pop(key, None)


def jitter(seconds: float, part: float = 0.2) -> float:
    """Up to `part` more, so that those who failed together do not come back together."""
    return seconds * random.uniform(1, 1 + part)  # noqa: S311 (not for secrets)
