"""Disks of snapshots where files cannot share blocks: a compressed qcow2 takes a fraction of the room of a copy."""

import asyncio
import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from ingot.disks.convert import convert
from ingot.host.clone import Cancelled, Progress, keep_attributes
from ingot.host.command import CommandFailed

# What a disk consists of: a file with a part of one at its end is not a disk, and would come back longer.
_SECTOR = 512
_CANCEL_SECONDS = 0.2
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def can_pack(path: Path) -> bool:
    """Whether that is a file that comes out of a qcow2 as it went in."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size > 0 and status.st_size % _SECTOR == 0


def pack(source: Path, target: Path, progress: Progress) -> None:
    """Make the new file `target` a qcow2 of the raw disk `source`, with its owner, mode and times, synced.

    No link is followed, and nothing of the disk's content is taken for a format. Raises Cancelled, OSError.
    """
    _convert(source, target, ["-f", "raw", "-O", "qcow2", "-c", "-W", "-o", "compression_type=zstd"], progress)


def unpack(source: Path, target: Path, progress: Progress) -> None:
    """Make the new file `target` the raw disk that was packed as `source`, with its holes; the rest is as of `pack`."""
    _convert(source, target, ["-f", "qcow2", "-O", "raw", "-W"], progress)


def _convert(source: Path, target: Path, formats: Sequence[str], progress: Progress) -> None:
    descriptor = os.open(source, _READ)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "is no file any more", str(source))
        original = f"/proc/{os.getpid()}/fd/{descriptor}"
        # Whoever only reads the disk meanwhile, such as a backup, is no hindrance: writers have been ruled out.
        arguments = ["--force-share", *formats, original, str(target)]
        try:
            asyncio.run(_followed(arguments, status.st_blocks * 512, progress))
        except CommandFailed as failed:
            raise _fault(failed, original, source) from None
        _finish(target, status)
    finally:
        os.close(descriptor)


def _finish(target: Path, status: os.stat_result) -> None:
    made = os.open(target, os.O_WRONLY | os.O_CLOEXEC)
    try:
        keep_attributes(status, made)
    finally:
        os.close(made)


def _fault(failed: CommandFailed, original: str, source: Path) -> OSError:
    """What went wrong, in words that are the same the next time: QEMU tells each place at which there was no room."""
    for number in (errno.ENOSPC, errno.EDQUOT):
        if os.strerror(number) in failed.stderr:
            return OSError(number, f"{os.strerror(number)}: make room for a packed copy of it", str(source))
    said = str(failed).splitlines()[0].replace(original, source.name)
    return OSError(errno.EIO, said, str(source))


async def _followed(arguments: Sequence[str], data: int, progress: Progress) -> None:
    before = progress.done

    def tell(part: float) -> None:
        progress.add(before + int(part * data) - progress.done)

    work = asyncio.ensure_future(convert(arguments, tell))
    try:
        while not work.done():
            if progress.cancelled.is_set():
                raise Cancelled
            await asyncio.wait([work], timeout=_CANCEL_SECONDS)
        work.result()
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
