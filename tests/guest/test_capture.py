"""Captures on a real QEMU without a guest system: whole, sparse, and nothing is left of those that were cut off."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import tempfile
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from eventual import eventually
from ingot.disks.convert import convert
from ingot.node.capture import CaptureFault, Captures
from ingot.node.domain.document import METADATA
from ingot.node.hypervisor import Hypervisor
from ingot.node.libvirt_home import QEMU_USER
from ingot.node.libvirtd import Libvirtd
from ingot.node.record import Record, Records

pytestmark = [
    pytest.mark.skipif(shutil.which("libvirtd") is None, reason="no libvirtd: run `make setup`"),
    pytest.mark.timeout(120),
]
MIB = 1 << 20
USER = QEMU_USER if os.geteuid() == 0 else None
DOMAIN = """\
<domain type='qemu'><name>tiny</name><uuid>{uuid}</uuid>
<metadata><ingot:instance xmlns:ingot='{mark}' uid='u'/></metadata><memory unit='MiB'>32</memory>
<os><type arch='x86_64' machine='q35'>hvm</type></os><devices>{disks}</devices></domain>
"""
DISK = """\
<disk type='file'><driver name='qemu' type='raw' cache='none'/><source file='{path}'/>
<target dev='{device}' bus='virtio'/><alias name='ua-{volume}'/></disk>
"""


@dataclass
class Bench:
    """A running domain with two disks, `one` and `two`, and a place for what is captured that QEMU cannot enter."""

    directory: Path
    hypervisor: Hypervisor
    libvirtd: Libvirtd
    captures: Captures
    record: Record

    def original(self, volume: str) -> Path:
        return self.directory / f"{volume}.img"

    def target(self, volume: str) -> Path:
        path = self.directory / "closed" / volume
        path.touch(mode=0o600)
        return path

    async def take(self, *volumes: str) -> int:
        targets = {volume: self.target(volume) for volume in volumes}
        return await self.captures.take(self.record, targets, lambda _done, _total: None)

    def is_taken(self, volume: str) -> bool:
        return self.target(volume).read_bytes() == self.original(volume).read_bytes()

    async def is_at_work(self) -> bool:
        """Whether libvirt is at a job with the domain."""
        stats = await self.hypervisor.call("tiny", lambda each: each.lookupByName("tiny").jobStats(0))
        return bool(stats["type"])

    async def assert_nothing_left(self) -> None:
        assert not await self.is_at_work()
        assert [each.name for each in self.record.directory.iterdir()] == ["record.json"]


@pytest.fixture
def place() -> Iterator[Path]:
    # A short path below /tmp: QEMU's user must be able to pass, and pytest's own directories are closed to others.
    made = Path(tempfile.mkdtemp(prefix="ingot-capture-"))
    made.chmod(0o711)
    (made / "closed").mkdir(mode=0o700)
    yield made
    shutil.rmtree(made)


@pytest.fixture
async def bench(place: Path) -> AsyncIterator[Bench]:
    for volume, size in (("one", 64), ("two", 32)):
        with (place / f"{volume}.img").open("wb") as file:
            file.truncate(size * MIB)
            for start in (0, size // 2 * MIB):
                file.seek(start)
                file.write(os.urandom(8 * MIB))
    async with _libvirt(place) as (hypervisor, libvirtd):
        devices = "".join(
            DISK.format(path=place / f"{volume}.img", device=device, volume=volume)
            for volume, device in (("one", "vda"), ("two", "vdb"))
        )
        await hypervisor.start(DOMAIN.format(uuid=uuid.uuid4(), mark=METADATA, disks=devices))
        records = Records(place / "machines")
        instance = {"metadata": {"uid": "u", "namespace": "n", "name": "tiny"}}
        record = records.make(instance, "pod")
        record.domain = "tiny"
        yield Bench(place, hypervisor, libvirtd, Captures(hypervisor, records, USER), record)


@asynccontextmanager
async def _libvirt(place: Path) -> AsyncIterator[tuple[Hypervisor, Libvirtd]]:
    libvirtd = Libvirtd(place / "libvirt")
    async with Hypervisor(libvirtd) as hypervisor:
        try:
            yield hypervisor, libvirtd
        finally:
            for name in await hypervisor.domains():
                await hypervisor.destroy(name)
            await libvirtd.end()


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies take seconds."""

    async def slow(arguments: Sequence[str], progress: Callable[[float], None]) -> None:
        await convert(["-r", "4M", *arguments], progress)

    monkeypatch.setattr("ingot.disks.convert.convert", slow)


async def test_disks_are_captured_whole_and_with_their_holes_where_qemu_itself_cannot_write(bench: Bench) -> None:
    told: list[tuple[int, int]] = []
    targets = {volume: bench.target(volume) for volume in ("one", "two")}
    targets["one"].write_bytes(b"what another try has left")
    await bench.captures.take(bench.record, targets, lambda *each: told.append(each))
    for volume, path in targets.items():
        assert bench.is_taken(volume)
        assert path.stat().st_blocks * 512 < 20 * MIB, "holes take no room"
        assert path.stat().st_uid == os.geteuid()
    assert told[-1] == (96 * MIB, 96 * MIB)
    await bench.assert_nothing_left()


async def test_a_disk_that_is_not_asked_for_has_no_part_in_it(bench: Bench) -> None:
    await bench.take("two")
    assert bench.is_taken("two")
    with pytest.raises(CaptureFault, match="no disk of volume three"):
        await bench.take("two", "three")
    await bench.assert_nothing_left()


async def test_captures_of_one_guest_wait_for_each_other(bench: Bench) -> None:
    """A second job would be refused by libvirt, after half a minute."""
    first, second = await asyncio.wait_for(asyncio.gather(bench.take("one"), bench.take("two")), 20)
    assert first < second
    assert bench.is_taken("one")
    assert bench.is_taken("two")


async def _begun(bench: Bench, work: Awaitable[int]) -> asyncio.Task[int]:
    bench.target("one").write_bytes(b"")
    task = asyncio.ensure_future(work)

    async def moving() -> bool:
        assert not task.done(), task.exception()
        return bool(bench.target("one").stat().st_blocks)

    await eventually(moving)
    return task


@pytest.mark.usefixtures("slowly")
async def test_a_capture_that_is_cancelled_leaves_nothing(bench: Bench) -> None:
    task = await _begun(bench, bench.take("one", "two"))
    assert await bench.is_at_work()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await bench.assert_nothing_left()


@pytest.mark.usefixtures("slowly")
async def test_what_a_killed_agent_was_at_is_ended_by_the_next_one(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both when it starts, and when it is asked for the same before that."""
    for ending in ("sweep", "take"):
        task = await _begun(bench, bench.take("one", "two"))
        # A process that is killed has no chance to end anything: its copies end with it, the job goes on.
        with monkeypatch.context() as patch:
            patch.setattr(Captures, "_end", _nothing)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert await bench.is_at_work()
        records = Records(bench.directory / "machines")
        bench.captures = Captures(bench.hypervisor, records, USER)
        bench.record.domain = records.all()[0].domain = "tiny"
        if ending == "sweep":
            await bench.captures.sweep()
            await bench.assert_nothing_left()
    await bench.take("two")
    assert bench.is_taken("two")
    await bench.assert_nothing_left()


async def _nothing(_captures: Captures, _record: Record) -> None:
    """In place of the end of a capture."""


@pytest.mark.usefixtures("slowly")
async def test_a_capture_goes_on_when_libvirtd_is_killed_and_not_when_qemu_is(bench: Bench) -> None:
    task = await _begun(bench, bench.take("one"))
    libvirtd = bench.libvirtd.process
    assert libvirtd is not None
    os.kill(libvirtd.pid, signal.SIGKILL)
    await task
    assert bench.is_taken("one")
    await bench.assert_nothing_left()

    task = await _begun(bench, bench.take("one"))
    os.kill(_qemu_with(str(bench.original("one"))), signal.SIGKILL)
    with pytest.raises(CaptureFault, match="its guest has ended"):
        await task
    assert [each.name for each in bench.record.directory.iterdir()] == ["record.json"]


def _qemu_with(word: str) -> int:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            command = path.read_bytes()
            if b"qemu-system" in command and word.encode() in command:
                return int(path.parent.name)
    raise AssertionError(f"no QEMU with {word}")


async def test_a_backup_that_somebody_else_makes_is_left_alone(bench: Bench) -> None:
    place = bench.directory / "open"
    place.mkdir()
    place.chmod(0o777)
    job = f"""<domainbackup mode='pull'><server transport='unix' socket='{place}/socket'/>
    <disks><disk name='vdb' backup='yes' type='file'><scratch file='{place}/scratch'/></disk></disks></domainbackup>"""
    await bench.hypervisor.call("tiny", lambda each: each.lookupByName("tiny").backupBegin(job, None, 0))
    with pytest.raises(CaptureFault, match="virsh domjobabort tiny"):
        await bench.take("one")
    assert await bench.is_at_work()


async def test_a_capture_ends_before_the_guest_lacks_room(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.node.room.LEAST_ROOM", 1 << 60)
    with pytest.raises(CaptureFault, match="make room"):
        await bench.take("one")
    await bench.assert_nothing_left()


async def test_only_plain_files_of_ours_are_written_to(bench: Bench) -> None:
    """Whoever asks has checked them already; a name may lead elsewhere by now."""
    link, pipe = bench.directory / "link", bench.directory / "pipe"
    link.symlink_to(bench.target("one"))
    os.mkfifo(pipe)
    for path in (link, pipe, bench.directory / "nothing", bench.directory):
        with pytest.raises(OSError, match=str(path)):
            await bench.captures.take(bench.record, {"one": path}, lambda _done, _total: None)
    await bench.assert_nothing_left()
