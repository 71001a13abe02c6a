import asyncio

import pytest

from ingot.kube.clock import ManualClock, SystemClock, micro_timestamp, settle, timestamp, within


async def test_timers_fire_in_order_and_see_their_own_time(clock: ManualClock) -> None:
    start, fired = clock.time(), []
    clock.call_later(2, lambda: fired.append(("b", clock.time() - start)))
    clock.call_later(1, lambda: fired.append(("a", clock.time() - start)))
    clock.call_later(3, lambda: fired.append(("never", 0.0))).cancel()
    await clock.advance(1.5)
    assert fired == [("a", 1)]
    await clock.advance(5)
    assert fired == [("a", 1), ("b", 2)]
    assert clock.time() - start == 6.5


async def test_sleepers_wake_when_time_has_come(clock: ManualClock) -> None:
    sleeper = asyncio.create_task(clock.sleep(10))
    await clock.advance(9.5)
    assert not sleeper.done()
    await clock.advance(0.5)
    assert sleeper.done()


async def test_within_cancels_what_takes_too_long(clock: ManualClock) -> None:
    ended = asyncio.Event()

    async def slow() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    waiting = asyncio.create_task(within(clock, 5, slow()))
    await settle()
    await clock.advance(5)
    with pytest.raises(TimeoutError, match="within 5 s"):
        await waiting
    assert ended.is_set()


async def test_within_passes_on_results_errors_and_cancellation(clock: ManualClock) -> None:
    async def seven() -> int:
        return 7

    async def fail() -> None:
        raise LookupError

    assert await within(clock, 1, seven()) == 7
    with pytest.raises(LookupError):
        await within(clock, 1, fail())
    waiting = asyncio.create_task(within(clock, 1, asyncio.Event().wait()))
    await settle()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_the_system_clock_runs() -> None:
    clock, rung = SystemClock(), asyncio.Event()
    before = clock.monotonic(), clock.time()
    clock.call_later(0.001, rung.set)
    await asyncio.gather(clock.sleep(0.002), rung.wait())
    assert clock.monotonic() > before[0]
    assert clock.time() > before[1]


def test_timestamps_are_the_wires() -> None:
    assert timestamp(1_700_000_000.9) == "2023-11-14T22:13:20Z"
    assert micro_timestamp(1_700_000_000.25) == "2023-11-14T22:13:20.250000Z"
