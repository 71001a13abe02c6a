import asyncio

import pytest
from kube_faults import until

from ingot.kube.clock import ManualClock, settle
from ingot.kube.limits import Backoff, TokenBucket, jitter
from ingot.kube.queue import Queue


@pytest.fixture
def queue(clock: ManualClock) -> Queue[str]:
    return Queue(clock=clock)


async def test_a_key_waits_only_once_and_in_order(queue: Queue[str]) -> None:
    for key in ("a", "b", "a", "c", "b"):
        queue.add(key)
    assert len(queue) == 3
    assert [await queue.get() for _ in range(3)] == ["a", "b", "c"]


async def test_a_key_in_work_comes_again_only_when_it_is_done(queue: Queue[str]) -> None:
    queue.add("a")
    assert await queue.get() == "a"
    queue.add("a")
    queue.add("a")
    assert len(queue) == 0
    queue.done("a")
    assert len(queue) == 1
    assert await queue.get() == "a"
    queue.done("a")
    assert len(queue) == 0


async def test_never_two_workers_on_one_key(clock: ManualClock) -> None:
    queue: Queue[int] = Queue(clock=clock)
    busy: set[int] = set()
    handled: list[int] = []

    async def work() -> None:
        while (key := await queue.get()) is not None:
            assert key not in busy
            busy.add(key)
            await asyncio.sleep(0)
            busy.discard(key)
            handled.append(key)
            queue.done(key)

    workers = [asyncio.create_task(work()) for _ in range(8)]
    for number in range(2000):
        queue.add(number % 13)
        if number % 7 == 0:
            await asyncio.sleep(0)
    await until(lambda: not queue and not busy)
    queue.close()
    await asyncio.gather(*workers)
    assert set(handled) == set(range(13))
    assert len(handled) < 2000


async def test_a_waiting_worker_gets_what_comes(queue: Queue[str]) -> None:
    waiting = asyncio.create_task(queue.get())
    await settle()
    queue.add("a")
    assert await waiting == "a"


async def test_a_cancelled_worker_takes_no_key_with_it(queue: Queue[str]) -> None:
    first, second = asyncio.create_task(queue.get()), asyncio.create_task(queue.get())
    await settle()
    queue.add("a")
    first.cancel()
    await settle()
    assert await second == "a"


async def test_later_is_later_and_the_soonest_wins(queue: Queue[str], clock: ManualClock) -> None:
    queue.add_after("a", 10)
    queue.add_after("a", 5)
    queue.add_after("a", 60)
    await clock.advance(4)
    assert len(queue) == 0
    await clock.advance(1)
    assert len(queue) == 1
    await queue.get()
    queue.done("a")
    await clock.advance(100)
    assert len(queue) == 0
    queue.add_after("b", 0)
    assert len(queue) == 1


async def test_failures_wait_twice_as_long_each_time(queue: Queue[str]) -> None:
    delays = [queue.retry("a") for _ in range(5)]
    assert delays == [0.005, 0.01, 0.02, 0.04, 0.08]
    assert queue.retry("b") == 0.005
    assert queue.failures("a") == 5
    queue.forget("a")
    assert queue.failures("a") == 0
    assert queue.retry("a") == 0.005


async def test_a_key_that_fails_for_ever_stays_bounded(clock: ManualClock) -> None:
    queue: Queue[str] = Queue(cap=300, rate=1e9, clock=clock)
    delays = [queue.retry("a") for _ in range(3000)]
    assert delays[-1] == 300


async def test_many_failing_keys_share_a_rate(clock: ManualClock) -> None:
    queue: Queue[int] = Queue(rate=10, burst=100, clock=clock)
    delays = [queue.retry(key) for key in range(300)]
    assert delays[99] == 0.005
    assert delays[299] == pytest.approx(20, abs=0.2)


async def test_a_closed_queue_sends_everyone_home(queue: Queue[str], clock: ManualClock) -> None:
    waiting = [asyncio.create_task(queue.get()) for _ in range(3)]
    queue.add_after("a", 1)
    await settle()
    queue.close()
    assert await asyncio.gather(*waiting) == [None, None, None]
    queue.add("b")
    queue.add_after("c", 1)
    await clock.advance(2)
    assert len(queue) == 0
    assert await queue.get() is None


async def test_a_key_in_work_while_closing_can_be_done(queue: Queue[str]) -> None:
    queue.add("a")
    await queue.get()
    queue.add("a")
    queue.close()
    queue.done("a")
    assert await queue.get() is None


async def test_a_bucket_gives_a_burst_and_then_a_rate(clock: ManualClock) -> None:
    bucket = TokenBucket(rate=2, burst=3, clock=clock)
    assert [bucket.take() for _ in range(4)] == [True, True, True, False]
    await clock.advance(0.5)
    assert [bucket.take() for _ in range(2)] == [True, False]
    await clock.advance(1000)
    assert [bucket.take() for _ in range(4)] == [True, True, True, False]
    assert bucket.reserve() == pytest.approx(0.5)
    assert bucket.reserve() == pytest.approx(1.0)


def test_backoff_and_jitter() -> None:
    backoff: Backoff[str] = Backoff(1, 5)
    assert [backoff.failed("x") for _ in range(4)] == [1, 2, 4, 5]
    assert all(10 <= jitter(10, 0.5) <= 15 for _ in range(100))
