"""A private libvirtd and real domains: as root, as an ordinary user, and through deaths of everything but QEMU."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from ingot.node.events import Kind, Phase
from ingot.node.hypervisor import Hypervisor
from ingot.node.libvirtd import Libvirtd
from ingot.node.link import HypervisorError
from ingot.node.pools import Pools
from ingot.node.secrets import Secrets

NAME = "tiny"
DOMAIN = """\
<domain type='qemu'><name>{name}</name><uuid>{uuid}</uuid><memory unit='MiB'>32</memory><vcpu>1</vcpu>
<os><type arch='x86_64' machine='q35'>hvm</type></os><features><acpi/></features><devices>{devices}</devices></domain>
"""
DISK = """\
<disk type='file'><driver name='qemu' type='raw'/><source file='{path}'/><target dev='vda' bus='virtio'/></disk>
"""

pytestmark = pytest.mark.skipif(shutil.which("libvirtd") is None, reason="no libvirtd: run `make setup`")
needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root's libvirtd has directories and a user for QEMU of its own"
)


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    """A libvirtd's directory. The libvirtd that tests start there is ended with the last of them."""
    # A short path below /tmp: QEMU's user must be able to pass, and pytest's own directories are closed to others.
    place = Path(tempfile.mkdtemp(prefix="ingot-libvirtd-"))
    place.chmod(0o711)
    yield place
    asyncio.run(_end(place / "libvirt"))
    shutil.rmtree(place)


async def _end(place: Path) -> None:
    libvirtd = Libvirtd(place)
    async with Hypervisor(libvirtd) as hypervisor:
        for name in await hypervisor.domains():
            await hypervisor.destroy(name)
    await libvirtd.end()


@asynccontextmanager
async def tiny(hypervisor: Hypervisor, devices: str = "", paused: bool = False) -> AsyncIterator[str]:
    """A domain without a system, of 32 MiB; its UUID."""
    identity = str(uuid.uuid4())
    await hypervisor.start(DOMAIN.format(name=NAME, uuid=identity, devices=devices), paused)
    try:
        yield identity
    finally:
        await hypervisor.destroy(NAME)


async def until(condition: Callable[[], Awaitable[bool]], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not await condition():
        assert time.monotonic() < deadline, "the condition was not met in time"
        await asyncio.sleep(0.05)


def qemu_of(name: str) -> int:
    """The process of a domain's QEMU."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if f"\0guest={name},".encode() in path.read_bytes():
                return int(path.parent.name)
        except (FileNotFoundError, ProcessLookupError):
            continue
    raise AssertionError(f"no QEMU of {name}")


def descriptors() -> int:
    """How many files and sockets this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def status_of(process: int) -> str:
    return Path(f"/proc/{process}/status").read_text()


async def test_a_domain_lives_and_its_end_is_told_and_remembered(directory: Path) -> None:
    hypervisor = Hypervisor(Libvirtd(directory / "libvirt"))
    heard: list[tuple[str, Kind, str]] = []
    hypervisor.subscribe(lambda *event: heard.append(event))
    async with hypervisor:
        async with tiny(hypervisor, paused=True) as identity:
            state = await hypervisor.state(NAME)
            assert state is not None
            assert (state.uuid, state.phase) == (identity, Phase.PAUSED)
            await hypervisor.resume(NAME)
            assert (await hypervisor.domains())[NAME].phase is Phase.RUNNING
            await hypervisor.reset(NAME)
            assert await hypervisor.last_reason(NAME, identity) is None
        assert await hypervisor.state(NAME) is None
        assert await hypervisor.last_reason(NAME, identity) == "destroyed"
        assert await hypervisor.last_reason(NAME, str(uuid.uuid4())) is None

        async def told() -> bool:
            return (NAME, Kind.STOPPED, "destroyed") in heard

        await until(told)
    assert (NAME, Kind.STARTED, "booted") in heard


async def test_a_qemu_that_was_killed_is_a_crash(directory: Path) -> None:
    async with Hypervisor(Libvirtd(directory / "libvirt")) as hypervisor, tiny(hypervisor) as identity:
        os.kill(qemu_of(NAME), 9)

        async def gone() -> bool:
            return await hypervisor.state(NAME) is None

        await until(gone)
        assert await hypervisor.last_reason(NAME, identity) == "crashed"


async def test_guests_outlive_libvirtd_and_are_its_own_again(directory: Path) -> None:
    libvirtd = Libvirtd(directory / "libvirt")
    hypervisor = Hypervisor(libvirtd)
    heard: list[str] = []
    hypervisor.subscribe(lambda _name, kind, detail: heard.append(detail) if kind is Kind.CONNECTION else None)
    async with hypervisor, tiny(hypervisor) as identity:
        qemu = qemu_of(NAME)
        before = descriptors()
        killed = libvirtd.process
        assert killed is not None
        killed.signal(9)
        await killed.ended(5)
        # It only looks: so it is done again when the connection is.
        state = await hypervisor.state(NAME)
        assert state is not None
        assert (state.uuid, state.phase) == (identity, Phase.RUNNING)
        assert heard == ["lost", "restored"]
        # It acts: the guest's monitor answers to the new libvirtd.
        await hypervisor.suspend(NAME)
        await hypervisor.resume(NAME)
        assert qemu_of(NAME) == qemu
        assert libvirtd.process != killed
        assert descriptors() == before


async def test_another_process_finds_libvirtd_and_its_guests(directory: Path) -> None:
    first = Libvirtd(directory / "libvirt")
    async with Hypervisor(first) as hypervisor, tiny(hypervisor):
        second = Libvirtd(directory / "libvirt")
        async with Hypervisor(second) as other:
            assert NAME in await other.domains()
        assert first.process == second.process


async def test_pools_and_secrets(directory: Path) -> None:
    libvirtd = Libvirtd(directory / "libvirt")
    async with Hypervisor(libvirtd) as hypervisor:
        pools, secrets = Pools(hypervisor), Secrets(hypervisor)
        await pools.ensure("default", directory / "pool")
        await pools.refresh("default")
        await secrets.define("iscsi", "one/disk", b"ingot-first\0")
        await secrets.define("iscsi", "one/disk", b"ingot-second")
        await secrets.define("ceph", "one/image", b"ingot-third")
        await secrets.define("ceph", "two/image", b"ingot-fourth")
        assert await _secrets(hypervisor) == {"one/disk", "one/image", "two/image"}
        with pytest.raises(HypervisorError, match="private"):
            await hypervisor.call(
                "", lambda connection: [cast(Any, each).value(0) for each in connection.listAllSecrets()]
            )
        await secrets.remove_prefix("one/")
        await secrets.remove("none")
        assert await _secrets(hypervisor) == {"two/image"}
        killed = libvirtd.process
        assert killed is not None
        killed.signal(9)
        await killed.ended(5)
        assert await pools.offered() == {"default": directory / "pool"}
        assert await _secrets(hypervisor) == set()
        await pools.keep([])
    values = (b"ingot-first", b"ingot-second", b"ingot-third", b"ingot-fourth")
    files = [path.read_bytes() for path in (directory / "libvirt").rglob("*") if path.is_file()]
    assert not [value for value in values for file in files if value in file]


async def _secrets(hypervisor: Hypervisor) -> set[str]:
    return await hypervisor.repeat("", lambda connection: {each.usageID() for each in connection.listAllSecrets()})


@needs_root
async def test_roots_guests_run_as_an_unprivileged_user_with_their_disks(directory: Path) -> None:
    disk = directory / "disk.img"
    disk.write_bytes(b"\0" * (1 << 20))
    disk.chmod(0o600)
    async with Hypervisor(Libvirtd(directory / "libvirt")) as hypervisor:
        async with tiny(hypervisor, DISK.format(path=disk)):
            status = status_of(qemu_of(NAME))
            assert f"Uid:\t{disk.stat().st_uid}\t" in status
            assert disk.stat().st_uid != 0
            assert "Seccomp:\t2" in status
        assert disk.stat().st_uid == 0


@needs_root
async def test_the_machines_own_libvirt_is_not_touched(directory: Path) -> None:
    libvirtd = Libvirtd(directory / "libvirt")
    before = content("/etc/libvirt", "/run/libvirt", "/var/lib/libvirt", "/var/log/libvirt", "/var/cache/libvirt")
    async with Hypervisor(libvirtd) as hypervisor, tiny(hypervisor):
        pass
    assert content(*before) == before
    assert oct((directory / "libvirt" / "run" / "libvirt-sock").stat().st_mode & 0o777) == "0o600"


def content(*places: str) -> dict[str, list[Path]]:
    return {place: sorted(Path(place).rglob("*")) for place in places}


def _as_ordinary_user(*command: str) -> subprocess.CompletedProcess[str]:
    """Runs a command as user 1000 without any capability; files stay readable when we are root."""
    enter = ["unshare", "--user", "--map-user=1000", "--map-group=1000"] if os.geteuid() == 0 else []
    return subprocess.run([*enter, *command], capture_output=True, text=True, timeout=100)


def links_to(directory: Path) -> list[Path]:
    """The short names that there are for a long directory."""
    names = Path(tempfile.gettempdir()).glob("ingot-*")
    return [name for name in names if name.is_symlink() and name.readlink().is_relative_to(directory)]


@pytest.mark.parametrize("length", [20, 150])
def test_an_ordinary_user_has_a_libvirtd_wherever_the_directory_is(length: int) -> None:
    with tempfile.TemporaryDirectory(prefix="ingot-user-") as place:
        directory = Path(place) / ("x" * max(1, length - len(place)))
        ended = _as_ordinary_user(sys.executable, __file__, str(directory))
        assert ended.returncode == 0, ended.stderr
        assert links_to(directory) == []
        told = json.loads(ended.stdout)
        assert told == {"user": 1000 if os.geteuid() == 0 else os.geteuid(), "survived": True, "reason": "destroyed"}


@pytest.mark.parametrize("ordinary", [False, True])
def test_the_doctor_finds_that_guests_run(directory: Path, ordinary: bool) -> None:
    command = [str(Path(sys.executable).with_name("ingot")), "doctor", "--dir", str(directory), "-o", "json"]
    ended = _as_ordinary_user(*command) if ordinary else subprocess.run(command, capture_output=True, text=True)
    told = json.loads(ended.stdout)
    checks = {check["name"]: check for check in told["checks"]}
    assert ended.returncode == 0, ended.stdout
    assert told["canBoot"] is True
    assert checks["guest"]["verdict"] == "ok"


async def _live(directory: Path) -> None:
    """What the ordinary user does: a guest, a killed libvirtd, and an end of both. Prints how it went."""
    libvirtd = Libvirtd(directory)
    async with Hypervisor(libvirtd) as hypervisor:
        async with tiny(hypervisor) as identity:
            killed = libvirtd.process
            assert killed is not None
            killed.signal(9)
            await killed.ended(5)
            state = await hypervisor.state(NAME)
            await hypervisor.suspend(NAME)
        reason = await hypervisor.last_reason(NAME, identity)
    await libvirtd.end()
    told = {"user": os.geteuid(), "survived": state is not None and state.uuid == identity, "reason": reason}
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    asyncio.run(_live(Path(sys.argv[1])))
