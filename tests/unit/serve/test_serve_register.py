"""The exports that a server knows: what fails after the start is tried again, or is not."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from ingot.images.fault import ImageFault
from ingot.serve import register as module
from ingot.serve.entry import Entry
from ingot.serve.ledger import Ledger
from ingot.serve.link import Link
from ingot.serve.register import FAILED, READY, Register
from ingot.serve.tally import Tally
from ingot.serve.totals import Totals


class Worker:
    """Opens exports with one outcome after the other, the last of them for ever, once it may."""

    number = 1

    def __init__(self, *outcomes: int | ImageFault) -> None:
        self.outcomes = list(outcomes)
        self.opened = 0
        self.told: list[dict[str, Any]] = []
        self.may = asyncio.Event()
        self.ended = asyncio.Event()
        self.totals = Totals()

    async def ask(self, message: dict[str, Any], seconds: float = 0.0) -> dict[str, Any]:
        self.told.append(message)
        if message["do"] != "open":
            return {"folder": message.get("entry", {}).get("source") == "/srv"}
        await self.may.wait()
        self.opened += 1
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        if isinstance(outcome, ImageFault):
            raise outcome
        return {"size": outcome}

    async def report(self) -> None:
        """It has told already."""


DISK = Entry("disk", "docker://far/image")
AWAY = ImageFault("far", "TooSlow", "it is away", retry=True)
NOT_LAZY = ImageFault("layer", "NotLazy", "it is one frame")


async def test_nothing_is_kept_of_what_is_removed() -> None:
    """Neither of what workers did that have ended, nor of what one told before it heard of it."""
    links: list[Link] = []
    ledger = Ledger(links)
    register = Register(links, ledger, 0.0)
    worker, lost = Worker(7), Worker(7)
    for each in (worker, lost):
        each.may.set()
        for name in ("vm", "disk", "images/a"):
            each.totals.add(name, Tally())
    links.append(cast(Link, worker))
    for entry in (Entry("vm", "docker://far/image"), DISK, Entry("images", "/srv"), Entry("", "/srv")):
        await register.add(entry)
    ledger.close(cast(Link, lost))
    await register.remove("vm")
    summed = await ledger.sum()
    assert {name: total.served for name, total in summed.exports.items()} == {"disk": 2, "images/a": 2}
    await register.remove("images")
    assert set((await ledger.sum()).exports) == {"disk"}
    await register.close()


class TestAfterTheStart:
    @pytest.fixture
    async def links(self) -> list[Link]:
        return []

    @pytest.fixture
    async def register(self, links: list[Link], monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Register]:
        monkeypatch.setattr(module, "_START_SECONDS", 0.001)
        monkeypatch.setattr(module, "_PAUSE_SECONDS", 0.001)
        made = Register(links, Ledger(links), 0.0)
        yield made
        await made.close()

    async def _begin(self, register: Register, links: list[Link], *outcomes: int | ImageFault) -> Worker:
        worker = Worker(*outcomes)
        links.append(cast(Link, worker))
        await register.begin([DISK])
        worker.may.set()
        async with asyncio.timeout(10):
            await asyncio.wait(register._tasks)
        return worker

    def _state(self, register: Register) -> str:
        (standing,) = register.standing(Totals())
        return standing.state

    async def test_what_may_pass_is_tried_again(self, register: Register, links: list[Link]) -> None:
        worker = await self._begin(register, links, AWAY, AWAY, 7)
        assert worker.opened == 3
        assert self._state(register) == READY

    async def test_a_final_fault_ends_it(
        self, register: Register, links: list[Link], caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.ERROR):
            worker = await self._begin(register, links, AWAY, NOT_LAZY, 7)
        assert worker.opened == 2
        assert self._state(register) == FAILED
        assert caplog.messages == [
            "export 'disk' cannot be served: far: it is away; it is tried again",
            "export 'disk' cannot be served: layer: it is one frame; it is not tried again before it is removed and"
            " added",
        ]
        # Nor does a worker that is new.
        new = Worker(7)
        new.may.set()
        await register.introduce(cast(Link, new))
        assert [(message["do"], message["pin"]) for message in new.told] == [("add", False)]
        await register.remove("disk")
        await register.add(DISK)
        assert self._state(register) == READY
