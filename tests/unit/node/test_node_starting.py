"""A start has a deadline, and can be broken off: its QEMU is ended either way."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ingot.node import starting
from ingot.node.chain import Chain
from ingot.node.domain.document import Host
from ingot.node.link import HypervisorError
from ingot.node.record import Record, Records
from ingot.node.starting import Abandoned, Starter, StartTimeout

VMI: dict[str, Any] = {
    "metadata": {"namespace": "lab", "name": "web", "uid": "u1"},
    "spec": {"domain": {"devices": {}}},
}


class Hanging:
    """A hypervisor whose starts end when their QEMU is ended, as libvirt's do; and chains that are empty."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.killed = asyncio.Event(), asyncio.Event()
        monkeypatch.setattr(starting, "end_emulator", lambda _uid: self.killed.set())

    async def start(self, *_: Any) -> None:
        self.begun.set()
        await self.killed.wait()
        raise HypervisorError(1, "qemu unexpectedly closed the monitor")

    async def make(self, *_: Any) -> Chain:
        return Chain([], [], {})


@pytest.fixture
def record(tmp_path: Path) -> Record:
    return Records(tmp_path).make(VMI, "p1")


async def test_a_qemu_that_hangs_is_ended(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "START_SECONDS", 0.05)
    hanging = Hanging(monkeypatch)
    starter = Starter(hanging, hanging, Host("tcg", "max"))  # type: ignore[arg-type]
    with pytest.raises(StartTimeout):
        await starter.start(VMI, record, lambda *_: None)
    assert not record.started


async def test_an_unwanted_start_is_broken_off_at_once(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = Hanging(monkeypatch)
    starter = Starter(hanging, hanging, Host("tcg", "max"))  # type: ignore[arg-type]
    task = asyncio.create_task(starter.start(VMI, record, lambda *_: None))
    await hanging.begun.wait()
    starter.abandon("u1")
    with pytest.raises(Abandoned):
        await asyncio.wait_for(task, 5)
    assert hanging.killed.is_set()
