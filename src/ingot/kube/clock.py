"""Time as something that is handed in, so that a test of ten minutes takes no time."""

import asyncio
import heapq
import itertools
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Protocol, TypeVar

T = TypeVar("T")


class Timer(Protocol):
    def cancel(self) -> None: ...


class Clock(Protocol):
    """`time` is wall-clock seconds since 1970; `monotonic` never goes back and means nothing by itself."""

    def time(self) -> float: ...

    def monotonic(self) -> float: ...

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer: ...

    async def sleep(self, delay: float) -> None: ...


class SystemClock:
    def time(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(delay, callback)

    async def sleep(self, delay: float) -> None:
        await asyncio.sleep(delay)


SYSTEM: Clock = SystemClock()


class _ManualTimer:
    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class ManualClock:
    """A clock for tests: time stands still until `advance` moves it, and then every timer fires in order."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start
        self._ahead = 0.0
        self._order = itertools.count()
        self._timers: list[tuple[float, int, _ManualTimer]] = []

    def time(self) -> float:
        return self._now + self._ahead

    def monotonic(self) -> float:
        return self._now

    def put_forward(self, seconds: float) -> None:
        """What people set their watches by is later by `seconds`; no timer has waited for that."""
        self._ahead += seconds

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        timer = _ManualTimer(callback)
        heapq.heappush(self._timers, (self._now + max(delay, 0), next(self._order), timer))
        return timer

    async def sleep(self, delay: float) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self.call_later(delay, lambda: None if woken.done() else woken.set_result(None))
        try:
            await woken
        finally:
            timer.cancel()

    async def advance(self, seconds: float) -> None:
        """Move on by `seconds`, and let what the timers woke run before the next one fires."""
        await settle()
        end = self._now + seconds
        while self._timers and self._timers[0][0] <= end:
            self._now, _, timer = heapq.heappop(self._timers)
            if timer.callback:
                timer.callback()
                await settle()
        self._now = end
        await settle()


async def settle(rounds: int = 10) -> None:
    """Let every task that can run without waiting for the outside do so."""
    for _ in range(rounds):
        await asyncio.sleep(0)


async def within(clock: Clock, seconds: float, work: Awaitable[T]) -> T:
    """The result of `work`, or TimeoutError and `work` cancelled when `clock` has moved on by `seconds`."""
    task = asyncio.ensure_future(work)
    expired = False

    def expire() -> None:
        nonlocal expired
        expired = not task.done()
        task.cancel()

    timer = clock.call_later(seconds, expire)
    try:
        return await task
    except asyncio.CancelledError:
        task.cancel()
        if expired:
            raise TimeoutError(f"no answer within {seconds:g} s") from None
        raise
    finally:
        timer.cancel()


def timestamp(seconds: float) -> str:
    """A wall-clock time as `metadata.creationTimestamp` has it: `2026-01-31T12:00:00Z`."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_timestamp(seconds: float) -> str:
    """A wall-clock time as Leases have it: `2026-01-31T12:00:00.000000Z`."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
