"""Files that are handed to a real QEMU as they were opened: nobody's name leads it elsewhere, and their owners stay."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from xml.etree import ElementTree

import pytest

from guest.lab import eventually
from ingot.disks.endpoint import File, Format
from ingot.disks.handover import handed_over
from ingot.disks.target import render
from ingot.host.descriptor import Descriptor
from ingot.node.domain.document import METADATA
from ingot.node.hypervisor import Hypervisor
from ingot.node.libvirtd import Libvirtd
from ingot.node.link import HypervisorError

pytestmark = pytest.mark.skipif(shutil.which("libvirtd") is None, reason="no libvirtd: run `make setup`")
MIB = 1 << 20
DOMAIN = """\
<domain type='qemu'><name>{name}</name><uuid>{uuid}</uuid>
<metadata><ingot:instance xmlns:ingot='{mark}' uid='u'/></metadata><memory unit='MiB'>32</memory>
<os><type arch='x86_64' machine='q35'>hvm</type></os><devices>{devices}</devices></domain>
"""


@pytest.fixture
def directory() -> Iterator[Path]:
    # A short path below /tmp: QEMU's user must be able to pass, and pytest's own directories are closed to others.
    place = Path(tempfile.mkdtemp(prefix="ingot-opened-"))
    place.chmod(0o711)
    (place / "closed").mkdir(mode=0o700)
    yield place
    shutil.rmtree(place)


@asynccontextmanager
async def libvirt(directory: Path) -> AsyncIterator[tuple[Hypervisor, Libvirtd]]:
    libvirtd = Libvirtd(directory / "libvirt")
    async with Hypervisor(libvirtd) as hypervisor:
        try:
            yield hypervisor, libvirtd
        finally:
            for name in await hypervisor.domains():
                await hypervisor.destroy(name)
            await libvirtd.end()


def image(path: Path, text: bytes) -> File:
    """A raw image that only its owner reads, as it was found and opened."""
    path.write_bytes(text.ljust(MIB, b"."))
    path.chmod(0o600)
    return File(path, opened=Descriptor.open(path, os.O_RDONLY | os.O_NOFOLLOW))


def overlay(directory: Path, below: File) -> File:
    path = directory / "over.qcow2"
    subprocess.check_call(
        ["qemu-img", "create", "-q", "-f", "qcow2", "-u", "-b", below.path, "-F", "raw", path, str(MIB)]
    )
    return File(path, Format.QCOW2, backing=below)


async def start(hypervisor: Hypervisor, name: str, **disks: File) -> None:
    files, devices = {}, ""
    for number, (disk, endpoint) in enumerate(disks.items()):
        element = render({"name": disk, "disk": {"bus": "virtio"}}, {"name": disk}, endpoint, f"vd{'abc'[number]}")
        if (file := handed_over(disk, endpoint, element)) is not None:
            files[disk] = file
        devices += ElementTree.tostring(element, encoding="unicode")
    await hypervisor.start(
        DOMAIN.format(name=name, uuid=uuid.uuid4(), devices=devices, mark=METADATA), paused=True, files=files
    )


def files_of(process: int) -> set[str]:
    return {str(entry.readlink()) for entry in Path(f"/proc/{process}/fd").iterdir()}


def qemu_of(name: str) -> int:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if f"\0guest={name},".encode() in path.read_bytes():
                return int(path.parent.name)
        except (FileNotFoundError, ProcessLookupError):
            continue
    raise AssertionError(f"no QEMU of {name}")


def rights(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_uid, found.st_gid, found.st_mode


async def test_owners_and_rights_stay_and_qemu_needs_none(directory: Path) -> None:
    base, data = image(directory / "closed/base.img", b"base"), image(directory / "closed/data.img", b"data")
    before = rights(base.path), rights(data.path)
    async with libvirt(directory) as (hypervisor, _):
        await start(hypervisor, "one", root=overlay(directory, base), data=data)
        assert (rights(base.path), rights(data.path)) == before
        assert {str(base.path), str(data.path)} <= files_of(qemu_of("one"))
        await hypervisor.destroy("one")
        assert await hypervisor.state("one") is None
    assert (rights(base.path), rights(data.path)) == before


async def test_a_name_that_leads_elsewhere_by_now_leads_nobody(directory: Path) -> None:
    base, data = image(directory / "base.img", b"base"), image(directory / "data.img", b"data")
    secret = directory / "closed/secret"
    secret.write_bytes(bytes(MIB))
    over = overlay(directory, base)
    for file in (base, data):
        file.path.rename(file.path.with_suffix(".real"))
        file.path.symlink_to(secret)
    async with libvirt(directory) as (hypervisor, _):
        await start(hypervisor, "two", root=over, data=data)
        used = files_of(qemu_of("two"))
        assert {str(directory / "base.real"), str(directory / "data.real")} <= used
        assert str(secret) not in used
    assert rights(secret)[:2] == (os.getuid(), os.getgid())


async def test_libvirtd_may_die_and_a_second_start_is_refused(directory: Path) -> None:
    data = image(directory / "closed/data.img", b"data")
    async with libvirt(directory) as (hypervisor, libvirtd):
        await start(hypervisor, "three", data=data)
        with pytest.raises(HypervisorError):
            await start(hypervisor, "three", data=data)
        process = libvirtd.process
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        assert "three" in await hypervisor.domains()
        assert await hypervisor.state("three") is not None
        os.kill(qemu_of("three"), signal.SIGKILL)

        async def is_gone() -> bool:
            return await hypervisor.state("three") is None

        await eventually(is_gone, lambda: "QEMU was killed")
        # Nobody holds the locks of a QEMU that is gone.
        await start(hypervisor, "four", data=data)


async def test_a_definition_that_a_killed_start_left_is_no_domain(directory: Path) -> None:
    async with libvirt(directory) as (hypervisor, _):
        left = DOMAIN.format(name="five", uuid=uuid.uuid4(), devices="", mark=METADATA)
        await hypervisor.call("five", lambda connection: connection.defineXML(left))
        assert "five" not in await hypervisor.domains()
        assert await hypervisor.state("five") is None
        with pytest.raises(HypervisorError) as caught:
            await hypervisor.xml("five")
        assert caught.value.missing
