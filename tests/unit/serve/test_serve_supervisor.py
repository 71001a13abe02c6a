"""The process that listens: who of its workers leads."""

import asyncio
from pathlib import Path
from typing import cast

import pytest

from ingot.serve import supervisor as module
from ingot.serve.afar import AfarOptions
from ingot.serve.link import Link, WorkerLost
from ingot.serve.supervisor import Supervisor, Terms


class Busy:
    """A worker whose queue is full for some messages."""

    def __init__(self, refusals: int) -> None:
        self.ended = asyncio.Event()
        self.led = asyncio.Event()
        self.refusals = refusals

    def lead(self) -> None:
        if self.refusals:
            self.refusals -= 1
            raise WorkerLost("worker 1: [Errno 11] Resource temporarily unavailable")
        self.led.set()


@pytest.fixture
def supervisor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Supervisor:
    monkeypatch.setattr(module, "_PAUSES", (0.001, 0.001))
    return Supervisor([], Terms(AfarOptions(str(tmp_path), 1 << 20)))


async def test_a_worker_whose_queue_is_full_leads_when_it_hears_again(supervisor: Supervisor) -> None:
    worker = Busy(3)
    supervisor._links.append(cast(Link, worker))
    supervisor._appoint()
    await asyncio.wait_for(worker.led.wait(), 10)


async def test_one_that_has_ended_is_followed_by_the_next(supervisor: Supervisor) -> None:
    lost, following = Busy(1 << 30), Busy(0)
    supervisor._links += [cast(Link, lost), cast(Link, following)]
    supervisor._appoint()
    await asyncio.sleep(0)
    asking = supervisor._appointing
    assert asking is not None
    lost.ended.set()
    supervisor._links.pop(0)
    supervisor._appoint()
    await asyncio.wait_for(following.led.wait(), 10)
    await asyncio.wait([asking], timeout=10)
    assert asking.done()
    assert not lost.led.is_set()
