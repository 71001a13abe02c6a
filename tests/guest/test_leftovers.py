"""What a start that was killed, a QEMU that hangs and a libvirtd that hangs leave in a real libvirt: nothing."""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from guest.lab import eventually
from ingot.node import ending
from ingot.node import libvirtd as daemon
from ingot.node.consoles import Consoles
from ingot.node.domain.document import Host, domain_name, domain_xml
from ingot.node.emulators import emulators
from ingot.node.ending import Endings
from ingot.node.hypervisor import Hypervisor
from ingot.node.libvirtd import Libvirtd
from ingot.node.record import Record, Records

pytestmark = pytest.mark.skipif(shutil.which("libvirtd") is None, reason="no libvirtd: run `make setup`")

VMI: dict[str, Any] = {
    "metadata": {"namespace": "lab", "name": "left", "uid": "6e1b2b1e-leftover"},
    "spec": {"domain": {"devices": {}, "memory": {"guest": "32Mi"}}, "terminationGracePeriodSeconds": 0},
}
OTHER: dict[str, Any] = {**VMI, "metadata": {**VMI["metadata"], "uid": "another"}}
NAME = domain_name(VMI)


@dataclass
class Node:
    """A libvirtd, and as much of an agent around it as ends guests."""

    hypervisor: Hypervisor
    libvirtd: Libvirtd
    endings: Endings
    records: Records

    async def leave(self, instance: dict[str, Any] = VMI) -> Record:
        """A guest as it is when the agent was killed at its start: libvirt has gone on, and has it defined too."""
        record = self.records.make(instance, "pod")
        xml = domain_xml(instance, Host("tcg", "maximum"), [], record.console)
        await self.hypervisor.call(NAME, lambda connection: connection.defineXML(xml).createWithFlags(0))
        return record

    async def listed(self) -> list[str]:
        found = await self.hypervisor.call("", lambda connection: connection.listAllDomains())
        return [domain.name() for domain in found]

    async def stopped(self, record: Record) -> None:
        """Ends a guest as the agent does."""

        async def is_over() -> bool:
            return await self.endings.stop(VMI, record) is None

        await eventually(is_over, lambda: f"{record.domain} has not ended")


@pytest.fixture
def directory() -> Iterator[Path]:
    # A short path below /tmp: QEMU's user must be able to pass, and pytest's own directories are closed to others.
    place = Path(tempfile.mkdtemp(prefix="ingot-left-"))
    place.chmod(0o711)
    yield place
    shutil.rmtree(place)


@asynccontextmanager
async def node(directory: Path) -> AsyncIterator[Node]:
    libvirtd = Libvirtd(directory / "libvirt")
    async with Hypervisor(libvirtd) as hypervisor:
        records = Records(directory / "machines")
        around: list[Any] = [None, records, Consoles(), SimpleNamespace(kubelet=directory)]
        try:
            yield Node(hypervisor, libvirtd, Endings(hypervisor, *around), records)
        finally:
            for name in await hypervisor.domains():
                await hypervisor.destroy(name)
            await libvirtd.end()


async def test_the_definition_that_a_killed_start_left_goes_with_its_guest(directory: Path) -> None:
    async with node(directory) as found:
        record = await found.leave()
        await found.stopped(record)
        assert await found.listed() == []
        assert record.uid not in emulators()


async def test_a_definition_without_a_guest_is_destroyed_too(directory: Path) -> None:
    async with node(directory) as found:
        record = await found.leave()
        emulators()[record.uid].signal(signal.SIGKILL)
        await found.hypervisor.destroy(NAME, record.uid)
        assert await found.listed() == []


async def test_what_another_instance_has_under_the_name_is_left_alone(directory: Path) -> None:
    async with node(directory) as found:
        await found.leave(OTHER)
        await found.stopped(found.records.make(VMI, "pod"))
        assert await found.hypervisor.state(NAME, "another") is not None
        assert await found.hypervisor.state(NAME, VMI["metadata"]["uid"]) is None


async def test_a_guest_whose_qemu_hangs_is_over_only_when_libvirt_knows_it(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # libvirt gives a QEMU ten seconds before it kills it; here it is given up before.
    monkeypatch.setattr(ending, "END_SECONDS", 0.5)
    async with node(directory) as found:
        record = await found.leave()
        emulators()[record.uid].signal(signal.SIGSTOP)
        await found.stopped(record)
        assert await found.listed() == []


async def test_a_libvirtd_that_hangs_is_started_again_to_let_go(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ending, "END_SECONDS", 0.5)
    monkeypatch.setattr(ending, "KEPT_SECONDS", 1.0)
    monkeypatch.setattr(daemon, "END_SECONDS", 1.0)
    async with node(directory) as found:
        record = await found.leave()
        before = found.libvirtd.process
        assert before is not None

        async def hang(*_: object) -> None:
            before.signal(signal.SIGSTOP)

        monkeypatch.setattr(found.hypervisor, "destroy", hang)
        await found.stopped(record)
        monkeypatch.undo()
        assert found.libvirtd.process not in (None, before)
        assert await found.listed() == []
        assert record.uid not in emulators()
