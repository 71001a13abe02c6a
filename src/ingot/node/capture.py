"""Captures: disks of a running guest, copied as they are at one moment, while the guest goes on."""

import asyncio
import os
import pwd
import shutil
import stat
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from urllib.parse import quote
from weakref import WeakValueDictionary

from ingot.disks.convert import fill
from ingot.host.command import CommandFailed
from ingot.host.descriptor import Descriptor
from ingot.host.tasks import together
from ingot.node import backups, room
from ingot.node.backups import Device
from ingot.node.hypervisor import Hypervisor
from ingot.node.link import HypervisorError
from ingot.node.record import Record, Records

# Below a machine's directory: QEMU's own place for its socket, whose path is no longer than the console's, and what
# it keeps of the moment. The directory says that a capture is under way, or was cut off.
_PLACE, _SOCKET = "cap", "nbd"
_SCRATCH = "capture-"
# How long QEMU may take to let go of a moment.
_END_SECONDS = 30.0

Progress = Callable[[int, int], None]


class CaptureFault(Exception):
    """Disks that could not be captured; the message says why, and what would help."""


class Captures:
    """Takes captures of this node's guests, one at a time of each. QEMU runs as `user`, or as we do for None."""

    def __init__(self, hypervisor: Hypervisor, records: Records, user: str | None) -> None:
        self._hypervisor = hypervisor
        self._records = records
        self._user = user
        # Of those guests whose disks somebody copies, or waits to.
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def sweep(self) -> None:
        """Ends what an agent that was killed was at. Raises HypervisorError, CaptureFault."""
        for record in self._records.all():
            if (record.directory / _PLACE).exists():
                await self._end(record)

    async def take(self, record: Record, disks: Mapping[str, Path | Descriptor], progress: Progress) -> int:
        """Copies some disks of a running guest as they are at one moment; that moment, in nanoseconds since 1970.

        `disks` are files by the names of the guest's volumes. Each is there already, ours, and a plain file, which may
        be open already, for reading and writing, where others could put another in its place; it becomes
        a raw image as large as the disk, with its holes, whatever was in it, and lasts when this returns. `progress`
        is told of bytes, done and in all. Another capture of the same guest is waited for; when the caller is
        cancelled, this one has ended. What is in the files is of use only if this returns.
        Raises CaptureFault, OSError for a file, and HypervisorError.
        """
        files = {volume: _opened(file) if isinstance(file, Path) else file for volume, file in disks.items()}
        async with self._turns.setdefault(record.uid, asyncio.Lock()):
            await self._end(record)
            found = await self._devices(record, disks)
            try:
                moment = await self._begin(record, found)
                await self._copy(record, found, files, progress)
            finally:
                await asyncio.shield(asyncio.ensure_future(self._end(record)))
        await asyncio.to_thread(_sync, files.values())
        return moment

    async def sizes(self, record: Record, volumes: Iterable[str]) -> dict[str, int]:
        """How large the guest sees the disks of these volumes. Raises CaptureFault, HypervisorError."""
        found = await self._devices(record, list(volumes))
        return {volume: device.size for volume, device in found.items()}

    async def _devices(self, record: Record, wanted: Collection[str]) -> dict[str, Device]:
        found = await self._hypervisor.repeat(
            record.domain, lambda connection: backups.devices(connection, record.domain)
        )
        if missing := [volume for volume in wanted if volume not in found]:
            raise CaptureFault(f"{record.key}: its guest has no disk of volume {', '.join(missing)}")
        return {volume: found[volume] for volume in wanted}

    async def _begin(self, record: Record, found: Mapping[str, Device]) -> int:
        busy = await self._hypervisor.repeat(
            record.domain, lambda connection: backups.is_busy(connection, record.domain)
        )
        if busy:
            raise CaptureFault(
                f"{record.key}: somebody else has libvirt at a job with domain {record.domain}; "
                f"wait for its end, or end it with: virsh domjobabort {record.domain}"
            )
        self._make_place(record)
        scratches = {volume: (_scratch(record, volume), device.name) for volume, device in found.items()}
        # All that the guest had written by then is in it.
        moment = time.time_ns()
        await self._hypervisor.call(
            record.domain, lambda connection: backups.begin(connection, record.domain, _socket(record), scratches)
        )
        return moment

    def _make_place(self, record: Record) -> None:
        place = record.directory / _PLACE
        place.mkdir(mode=0o700)
        if self._user is not None:
            known = pwd.getpwnam(self._user)
            os.chown(place, known.pw_uid, known.pw_gid, follow_symlinks=False)

    async def _copy(
        self, record: Record, found: Mapping[str, Device], files: Mapping[str, Descriptor], progress: Progress
    ) -> None:
        done = dict.fromkeys(found, 0)
        total = sum(device.size for device in found.values())

        def follow(volume: str) -> Callable[[float], None]:
            def tell(part: float) -> None:
                done[volume] = int(part * found[volume].size)
                progress(sum(done.values()), total)

            return tell

        places = [record.directory, *room.shared((files[each], found[each].size) for each in found)]
        copies = together(_pull(_socket(record), each, found[each].size, files[each], follow(each)) for each in found)
        try:
            await room.while_there_is_room(copies, places)
        except room.NoRoom as error:
            raise CaptureFault(f"{record.key}: its disks are not copied any further: {error}") from None
        except CommandFailed as error:
            if await self._hypervisor.state(record.domain, record.uid) is None:
                raise CaptureFault(f"{record.key}: its guest has ended while its disks were copied") from None
            raise CaptureFault(f"{record.key}: its disks could not be copied: {error.stderr}") from None

    async def _end(self, record: Record) -> None:
        """Lets QEMU go on without the moment that it keeps, if it does, and removes all that there was for it."""
        deadline = time.monotonic() + _END_SECONDS
        while await self._abort(record):
            if time.monotonic() > deadline:
                raise CaptureFault(f"{record.key}: its backup does not end; see: virsh domjobinfo {record.domain}")
            await asyncio.sleep(0.05)
        for scratch in record.directory.glob(f"{_SCRATCH}*"):
            scratch.unlink(missing_ok=True)
        # Last: it says that there may be more.
        shutil.rmtree(record.directory / _PLACE, ignore_errors=True)

    async def _abort(self, record: Record) -> bool:
        try:
            return await self._hypervisor.repeat(
                record.domain, lambda connection: backups.abort(connection, record.domain, _socket(record))
            )
        except HypervisorError as error:
            if error.missing:
                return False
            raise


async def _pull(socket: Path, volume: str, size: int, file: Descriptor, progress: Callable[[float], None]) -> None:
    source = f"nbd+unix:///{quote(volume)}?socket={quote(str(socket))}"
    await fill(file, size, ["-f", "raw", source], progress)


def _opened(path: Path) -> Descriptor:
    """A file to copy to. Raises OSError."""
    file = Descriptor.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    found = os.fstat(file.fileno())
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        raise PermissionError(1, "it is not a plain file of ours", str(path))
    return file


def _sync(files: Iterable[Descriptor]) -> None:
    for file in files:
        os.fsync(file.fileno())


def _socket(record: Record) -> Path:
    return record.directory / _PLACE / _SOCKET


def _scratch(record: Record, volume: str) -> Path:
    return record.directory / f"{_SCRATCH}{volume}.qcow2"
