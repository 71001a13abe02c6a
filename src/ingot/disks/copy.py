"""Copies: the local data that a guest works on instead of the source itself.

A copy is made under a scratch name and published by a rename when all of it is on disk: a name without the dot is
always a whole copy, whoever was killed meanwhile.
"""

import asyncio
import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from ingot.disks.convert import convert
from ingot.disks.endpoint import Endpoint, File, Format
from ingot.disks.fault import DiskFault
from ingot.disks.imageopts import address, image, told
from ingot.disks.source.refusal import refusal
from ingot.host.command import CommandFailed, Limits, run
from ingot.host.files import sync_directory
from ingot.host.reflink import share_blocks

Progress: TypeAlias = Callable[[int, int], None]

# What an overlay takes at most while it is empty.
_EMPTY = 1 << 20
_RETRY_FULL = 30.0
_ASKING = Limits(seconds=60)


async def copy(
    volume: str, mode: str, source: Endpoint, pool: Path, name: str, scratch: Path, progress: Progress
) -> File:
    """The machine's own copy of `source` in the pool: made now, or found where an earlier call has made it.

    copy-on-write and copy-on-read make an overlay `<name>.qcow2` over the source, clone a sparse raw `<name>.img`.
    `progress` hears of bytes done and bytes in all. Secrets are for a while in private files in `scratch`. Raises
    DiskFault: PoolFull when the pool has no room, CopyFailed when the source cannot be read.
    """
    path = pool / f"{name}{'.img' if mode == 'clone' else '.qcow2'}"
    if not path.exists():
        maker = _Maker(volume, source, path, scratch, progress)
        await (maker.clone() if mode == "clone" else maker.overlay())
    return File(path) if mode == "clone" else File(path, Format.QCOW2, backing=source)


def discard(pool: Path, vmi_uid: str) -> bool:
    """Removes every copy of a machine, whole or half-made; whether there was one."""
    entries = [*pool.glob(f"{vmi_uid}-*"), *pool.glob(f".{vmi_uid}-*.partial")]
    for entry in entries:
        entry.unlink(missing_ok=True)
    if entries:
        sync_directory(pool)
    return bool(entries)


class _Maker:
    """One copy in the making."""

    def __init__(self, volume: str, source: Endpoint, path: Path, scratch: Path, progress: Progress) -> None:
        self.volume = volume
        self.source = source
        self.path = path
        self.partial = path.with_name(f".{path.name}.partial")
        self.scratch = scratch
        self.progress = progress
        self.needed = _EMPTY

    async def overlay(self) -> None:
        """An empty overlay over the source."""
        try:
            size = await self._ask("info", "virtual-size")
            self._begin()
            # -u: the source is not opened, for which its secret would have to be in the overlay's header. What the
            # header says is for people; QEMU is told the chain by the domain.
            backing = ("-u", "-b", address(self.source), "-F", str(self.source.format))
            await run(["qemu-img", "create", "-q", "-f", "qcow2", *backing, str(self.partial), str(size)])
            await self._publish()
        except (CommandFailed, OSError) as error:
            raise self._fault(error) from error
        finally:
            self.partial.unlink(missing_ok=True)

    async def clone(self) -> None:
        """A full copy: shared blocks where the filesystem can, else read from the source; holes stay holes."""
        try:
            self._begin()
            if not await asyncio.to_thread(self._reflink):
                await self._read()
            await self._publish()
        except (CommandFailed, OSError) as error:
            raise self._fault(error) from error
        finally:
            self.partial.unlink(missing_ok=True)

    async def _read(self) -> None:
        # What a qcow2 of it would need is what it holds; for a raw image `measure` tells the size with all holes.
        self.needed = await self._ask("measure", "required", "-O", "qcow2")
        if self.needed > self._free():
            raise self._full()
        with image(self.source, self.scratch) as opened:
            arguments = (*opened.arguments, "-O", "raw", opened.name, str(self.partial))
            await convert(arguments, self._tell)

    def _tell(self, done: float) -> None:
        # The copy has its full size from the beginning: it is its holes that are filled.
        size = self.partial.stat().st_size
        self.progress(int(done * size), size)

    def _reflink(self) -> bool:
        """Makes the copy by sharing the source's blocks; whether that was possible."""
        if not isinstance(self.source, File) or self.source.format is not Format.RAW:
            return False
        with self.source.reach.open("rb") as source, self.partial.open("r+b") as target:
            if not share_blocks(source.fileno(), target.fileno()):
                return False
            size = os.fstat(target.fileno()).st_size
        self.progress(size, size)
        return True

    async def _ask(self, question: str, key: str, *arguments: str) -> int:
        with image(self.source, self.scratch) as opened:
            command = ["qemu-img", question, "--output", "json", *arguments, *opened.arguments, opened.name]
            return int(json.loads(await run(command, limits=_ASKING))[key])

    def _begin(self) -> None:
        self.partial.unlink(missing_ok=True)
        os.close(os.open(self.partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))

    async def _publish(self) -> None:
        await asyncio.to_thread(_sync, self.partial)
        self.partial.replace(self.path)
        sync_directory(self.path.parent)

    def _free(self) -> int:
        figures = os.statvfs(self.path.parent)
        return figures.f_bavail * figures.f_frsize

    def _fault(self, error: CommandFailed | OSError) -> DiskFault:
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        if full or os.strerror(errno.ENOSPC) in str(error) or os.strerror(errno.EDQUOT) in str(error):
            return self._full()
        said = error.stderr if isinstance(error, CommandFailed) else str(error)
        with image(self.source, self.scratch) as opened:
            said = said.removeprefix("qemu-img: ").replace(opened.name, told(self.source))
        if isinstance(self.source, File):
            said = said.replace(str(self.source.reach), str(self.source.path))
        return refusal(self.volume, "CopyFailed", f"{told(self.source)} cannot be copied: {said}")

    def _full(self) -> DiskFault:
        why = (
            f"the pool {self.path.parent} has no room for a copy of {told(self.source)}: it needs {self.needed} "
            f"bytes and {self._free()} are free; nothing is left of the attempt, and it is tried again every "
            f"{_RETRY_FULL:g} s until there is room"
        )
        return DiskFault(self.volume, "PoolFull", why, _RETRY_FULL)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
