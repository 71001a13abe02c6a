"""The end of a guest: nothing is cleared before libvirt has let go of its domain, and what helps when it does not."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ingot.kube.clock import ManualClock
from ingot.node.ending import KEPT_SECONDS, LOOK_SECONDS, Endings
from ingot.node.events import DomainState, Phase
from ingot.node.link import HypervisorError
from ingot.node.record import Record, Records

VMI: dict[str, Any] = {
    "metadata": {"namespace": "lab", "name": "web", "uid": "u1"},
    "spec": {"domain": {"devices": {}}, "terminationGracePeriodSeconds": 0},
}


class Libvirt:
    """A libvirt that keeps the domain, however often it is told to end it, until it is `willing` or started again."""

    def __init__(self, *, own: bool = True, refusal: HypervisorError | None = None) -> None:
        self.own, self.refusal = own, refusal
        self.kept, self.willing = True, False
        self.destroyed: list[tuple[str, str]] = []
        self.renewed = 0

    async def state(self, name: str, _uid: str) -> DomainState | None:
        return DomainState(name, "", Phase.PAUSED, "user") if self.kept else None

    async def destroy(self, name: str, uid: str) -> None:
        self.destroyed.append((name, uid))
        if self.refusal:
            raise self.refusal
        self.kept = self.kept and not self.willing

    async def gone(self, _name: str, _uid: str) -> bool:
        return not self.kept

    async def renew(self) -> bool:
        self.renewed += 1
        self.kept = self.kept and not self.own
        return self.own


class Chains:
    async def clear(self, _record: Record) -> None: ...


def ending(tmp_path: Path, libvirt: Libvirt) -> tuple[Endings, Records, Record, ManualClock]:
    clock, records = ManualClock(), Records(tmp_path)
    around: list[Any] = [Chains(), records, SimpleNamespace(leave=lambda _uid: None), SimpleNamespace(kubelet=tmp_path)]
    return Endings(libvirt, *around, clock), records, records.make(VMI, "p1"), clock  # type: ignore[arg-type]


async def test_an_end_is_over_when_libvirt_has_let_go(tmp_path: Path) -> None:
    libvirt = Libvirt()
    endings, _, record, _ = ending(tmp_path, libvirt)
    assert await endings.stop(VMI, record) == LOOK_SECONDS
    libvirt.kept = False
    assert await endings.stop(VMI, record) is None
    assert libvirt.destroyed == [("lab_web", "u1")]
    assert libvirt.renewed == 0


async def test_the_record_of_an_instance_that_is_gone_stays_as_long_as_its_domain(tmp_path: Path) -> None:
    libvirt = Libvirt()
    endings, records, record, _ = ending(tmp_path, libvirt)
    assert await endings.wipe(record) == LOOK_SECONDS
    assert Records(tmp_path).all() == [record]
    libvirt.kept = False
    assert await endings.wipe(record) is None
    assert (records.all(), Records(tmp_path).all()) == ([], [])


async def test_a_libvirt_of_our_own_that_does_not_let_go_is_started_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    libvirt = Libvirt()
    endings, _, record, clock = ending(tmp_path, libvirt)
    await endings.stop(VMI, record)
    await clock.advance(KEPT_SECONDS - 1)
    await endings.stop(VMI, record)
    assert libvirt.renewed == 0
    await clock.advance(1)
    assert await endings.stop(VMI, record) == LOOK_SECONDS
    assert await endings.stop(VMI, record) is None
    assert (libvirt.renewed, len(libvirt.destroyed)) == (1, 1)
    assert "has kept its domain lab_web for 60 s: libvirtd was ended" in caplog.text


async def test_a_given_libvirt_that_does_not_let_go_is_asked_again(tmp_path: Path) -> None:
    libvirt = Libvirt(own=False)
    endings, _, record, clock = ending(tmp_path, libvirt)
    await endings.stop(VMI, record)
    await clock.advance(KEPT_SECONDS)
    assert await endings.stop(VMI, record) == LOOK_SECONDS
    libvirt.willing = True
    assert await endings.stop(VMI, record) is None
    assert len(libvirt.destroyed) == 2


async def test_a_refusal_of_libvirt_keeps_nobody_from_looking_on(tmp_path: Path) -> None:
    libvirt = Libvirt(refusal=HypervisorError(38, "cannot be terminated"))
    endings, _, record, _ = ending(tmp_path, libvirt)
    assert await endings.stop(VMI, record) == LOOK_SECONDS


async def test_a_libvirt_that_was_lost_meanwhile_is_asked_again(tmp_path: Path) -> None:
    endings, _, record, _ = ending(tmp_path, Libvirt(refusal=HypervisorError(0, "closed", lost=True)))
    with pytest.raises(HypervisorError):
        await endings.wipe(record)
