"""Starts that fail: what is told, what is let go, and when they are tried again."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ingot.disks.fault import DiskFault
from ingot.kube.clock import ManualClock
from ingot.node.attempts import RETRY_SECONDS, SLOW_RETRY_SECONDS, Attempts, plain
from ingot.node.link import HypervisorError
from ingot.node.record import Record, Records
from ingot.node.starting import Abandoned, Started, StartTimeout, Unsupported

VMI: dict[str, Any] = {
    "metadata": {"namespace": "lab", "name": "web", "uid": "u1"},
    "spec": {"domain": {"devices": {}}},
}


class Parts:
    """The parts of an agent around an attempt, which note what they are asked."""

    def __init__(self, outcome: Exception | None) -> None:
        self.outcome = outcome
        self.starts = 0
        self.told: list[tuple[str, str, str]] = []
        self.retreats = 0

    async def start(self, _instance: Any, _record: Record, _progress: Any) -> Started:
        self.starts += 1
        if self.outcome:
            raise self.outcome
        return Started([{"name": "root"}])

    async def bury(self, _record: Record) -> None: ...

    def forget(self, _domain: str) -> None: ...

    async def retreat(self, _record: Record) -> None:
        self.retreats += 1

    async def refused(self, _instance: Any, reason: str, message: str, volume: str) -> None:
        self.told.append((reason, message, volume))

    async def follow(self, _instance: Any, _done: Any) -> None:
        await asyncio.Event().wait()


def attempt(tmp_path: Path, outcome: Exception | None) -> tuple[Attempts, Parts, Record, ManualClock]:
    parts, clock = Parts(outcome), ManualClock()
    record = Records(tmp_path).make(VMI, "p1")
    return Attempts(parts, parts, parts, parts, clock), parts, record, clock  # type: ignore[arg-type]


async def test_a_start_that_works_leaves_its_volumes_in_the_note(tmp_path: Path) -> None:
    attempts, parts, record, _ = attempt(tmp_path, None)
    assert await attempts.start(VMI, record) is None
    assert (record.volumes, parts.told, parts.retreats) == ([{"name": "root"}], [], 0)


@pytest.mark.parametrize(
    ("outcome", "reason", "wait"),
    [
        (DiskFault("root", "NotFound", "it is not there", 3.0), "NotFound", 3.0),
        (DiskFault("root", "InvalidVolume", "it cannot be", None), "InvalidVolume", RETRY_SECONDS),
        (Unsupported(["spec.x: leave it out"]), "NotSupported", RETRY_SECONDS),
        (StartTimeout(30.0), "Unreachable", SLOW_RETRY_SECONDS),
        (HypervisorError(1, "no"), "DomainStartFailed", RETRY_SECONDS),
        (OverflowError("too large"), "InternalError", RETRY_SECONDS),
    ],
)
async def test_what_stands_in_the_way_is_told_and_all_is_let_go(
    tmp_path: Path, outcome: Exception, reason: str, wait: float
) -> None:
    attempts, parts, record, clock = attempt(tmp_path, outcome)
    assert await attempts.start(VMI, record) == wait
    assert [told[0] for told in parts.told] == [reason]
    assert parts.retreats == 1
    assert await attempts.start(VMI, record) == wait
    assert parts.starts == 1
    await clock.advance(wait)
    await attempts.start(VMI, record)
    assert parts.starts == 2


async def test_what_nobody_wants_is_not_told(tmp_path: Path) -> None:
    attempts, parts, record, _ = attempt(tmp_path, Abandoned())
    assert (await attempts.start(VMI, record), parts.told) == (0.0, [])


async def test_a_lost_libvirt_is_not_the_machines_fault(tmp_path: Path) -> None:
    attempts, parts, record, _ = attempt(tmp_path, HypervisorError(1, "gone", lost=True))
    with pytest.raises(HypervisorError):
        await attempts.start(VMI, record)
    assert parts.told == []


def test_the_same_failure_has_the_same_words() -> None:
    said = "internal error: 2026-11-16T11:33:34.575107Z qemu-system-x86_64: /lib/domain-5-default_one/key: no"
    assert plain(said) == "internal error: /lib/domain-default_one/key: no"
