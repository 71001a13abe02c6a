"""Copies of files and trees that take no more room than they must: shared blocks where possible, holes kept."""

import errno
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from ingot.host.files import sync_directory
from ingot.host.reflink import CANNOT, share_blocks

_CHUNK = 4 << 20
# How the files begin that find out whether blocks can be shared.
PROBE = ".share-"


class Cancelled(Exception):
    """The copy was called off; what there is of it is to be thrown away."""


@dataclass(slots=True)
class Progress:
    """How far a copy is, in bytes of data: written by the thread that copies, read by others."""

    done: int = 0
    total: int = 0
    cancelled: Event = field(default_factory=Event)


def can_share(directory: Path) -> bool:
    """Whether files in the directory can share blocks, found out by two small ones."""
    one, other = directory / f"{PROBE}one", directory / f"{PROBE}other"
    try:
        one.write_bytes(b"\1" * 4096)
        with one.open("rb") as source, other.open("wb") as target:
            return share_blocks(source.fileno(), target.fileno())
    finally:
        one.unlink(missing_ok=True)
        other.unlink(missing_ok=True)


def clone_tree(source: Path, target: Path, progress: Progress) -> None:
    """Copy what is in the directory `source` into the directory `target`, with owners, modes and links, synced.

    Sockets, pipes and devices are left out: they are nobody's data. Whoever may write to the source cannot lead the
    copy out of it: no link is followed, not even one that takes a file's place in the meantime.
    Raises Cancelled, OSError.
    """
    progress.total = sum(path.lstat().st_blocks * 512 for path in source.rglob("*"))
    for directory, names, files, here in os.fwalk(source, onerror=_fail, follow_symlinks=False):
        there = target / Path(directory).relative_to(source)
        for name in (*names, *files):
            status = os.stat(name, dir_fd=here, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                (there / name).mkdir()
            elif stat.S_ISLNK(status.st_mode):
                (there / name).symlink_to(os.readlink(name, dir_fd=here))
                _chown(there / name, status)
            elif stat.S_ISREG(status.st_mode):
                _clone_plain(here, name, there / name, progress)
        if there != target:
            _keep_attributes(os.fstat(here), there)
        sync_directory(there)


def _fail(error: OSError) -> None:
    """What cannot be read is no part that may be left out."""
    raise error


def clone_file(source: Path, target: Path, progress: Progress) -> None:
    """Make `target` the same as `source`, synced. Raises Cancelled, OSError."""
    directory = os.open(source.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _clone_plain(directory, source.name, target, progress)
    finally:
        os.close(directory)


def _clone_plain(directory: int, name: str, target: Path, progress: Progress) -> None:
    # Not blocking: what was a file a moment ago may be a pipe that nobody writes to.
    reading = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    try:
        status = os.fstat(reading)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "is no file any more", name)
        with target.open("xb", buffering=0) as writing:
            if not share_blocks(reading, writing.fileno()):
                _copy_data(reading, writing.fileno(), progress)
            os.fsync(writing.fileno())
        _keep_attributes(status, target)
    finally:
        os.close(reading)


def _keep_attributes(status: os.stat_result, target: Path) -> None:
    _chown(target, status)
    target.chmod(stat.S_IMODE(status.st_mode))
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def _chown(target: Path, status: os.stat_result) -> None:
    """Only root may give files away; a user's copy belongs to that user."""
    if os.geteuid() == 0:
        os.chown(target, status.st_uid, status.st_gid, follow_symlinks=False)


def _copy_data(source: int, target: int, progress: Progress) -> None:
    """Copy the data and none of the holes."""
    size = os.fstat(source).st_size
    os.ftruncate(target, size)
    end = 0
    while end < size:
        try:
            start = os.lseek(source, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return
            raise
        end = os.lseek(source, start, os.SEEK_HOLE)
        _copy_range(source, target, start, end, progress)


def _copy_range(source: int, target: int, start: int, end: int, progress: Progress) -> None:
    while start < end:
        if progress.cancelled.is_set():
            raise Cancelled
        try:
            copied = os.copy_file_range(source, target, min(_CHUNK, end - start), start, start)
        except OSError as error:
            if error.errno not in CANNOT:
                raise
            copied = os.pwrite(target, os.pread(source, min(_CHUNK, end - start), start), start)
        if not copied:
            raise OSError(errno.EIO, "the original became shorter while it was copied")
        start += copied
        progress.done += copied
