"""Copies of files and trees that take no more room than they must: shared blocks where possible, holes kept."""

import errno
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from ingot.host.hard_links import HardLinks
from ingot.host.reflink import CANNOT, share_blocks

_CHUNK = 4 << 20
# How the files begin that find out whether blocks can be shared.
PROBE = ".share-"
# Two directories are open for each.
_MOST_DEPTH = 256


class Cancelled(Exception):
    """The copy was called off; what there is of it is to be thrown away."""


@dataclass(slots=True)
class Progress:
    """How far a copy is, in bytes of data: written by the thread that copies, read by others, and told to `listener`
    as done and in all."""

    done: int = 0
    total: int = 0
    cancelled: Event = field(default_factory=Event)
    listener: Callable[[int, int], None] | None = None

    def add(self, copied: int) -> None:
        self.done += copied
        if self.listener is not None:
            self.listener(self.done, max(self.total, self.done))


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


def clone_tree(source: Path, target: Path, progress: Progress, without: Collection[str] = ()) -> None:
    """Copy what is in the directory `source` into the directory `target`, with owners, modes and links of both kinds.

    What is called as in `without` in `source` itself is left out, and so are sockets, pipes and devices anywhere: they
    are nobody's data. It is on disk when this returns, but for the names in `target` itself.
    Whoever may write to either cannot lead the copy out of it: no link is followed, not even one that takes the place
    of a file or directory in the meantime. Raises Cancelled, OSError.
    """
    progress.total = sum(_share(path.lstat()) for path in source.rglob("*"))
    with _opened(source) as here, _opened(target) as there:
        names = [name for name in _names(here) if name not in without]
        _Walk(progress, HardLinks(there)).clone_names(names, here, there, ())


def clone_file(source: Path, target: Path, progress: Progress) -> None:
    """Make `target` the same as `source`, synced. Raises Cancelled, OSError."""
    with _opened(source.parent) as here, _opened(target.parent) as there:
        _clone_plain(source.name, here, target.name, there, progress)


@contextmanager
def _opened(name: Path | str, above: int | None = None) -> Iterator[int]:
    """A directory; a link to one is none, where it is reached from another."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (os.O_NOFOLLOW if above is not None else 0)
    descriptor = os.open(name, flags, dir_fd=above)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _names(directory: int) -> list[str]:
    with os.scandir(directory) as entries:
        return [entry.name for entry in entries]


def _share(status: os.stat_result) -> int:
    """The bytes of a name: of those of its file, which are copied once."""
    # Some filesystems in user space count no links.
    return status.st_blocks * 512 // max(status.st_nlink, 1)


@dataclass(frozen=True, slots=True)
class _Walk:
    """A copy of a tree, one directory after the other: `here` is in the original, `there` in the copy."""

    progress: Progress
    links: HardLinks

    def clone_names(self, names: Iterable[str], here: int, there: int, above: tuple[str, ...]) -> None:
        for name in names:
            status = os.stat(name, dir_fd=here, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                self._clone_directory(name, here, there, above)
            elif stat.S_ISLNK(status.st_mode):
                os.symlink(os.readlink(name, dir_fd=here), name, dir_fd=there)
                with suppress(PermissionError):
                    os.chown(name, status.st_uid, status.st_gid, dir_fd=there, follow_symlinks=False)
            elif stat.S_ISREG(status.st_mode) and not self.links.link(status, name, there):
                original, copy = _clone_plain(name, here, name, there, self.progress)
                self.links.note(original, (*above, name), copy)

    def _clone_directory(self, name: str, here: int, there: int, above: tuple[str, ...]) -> None:
        if len(above) == _MOST_DEPTH:
            raise OSError(errno.ENAMETOOLONG, f"it is more than {_MOST_DEPTH} directories deep", name)
        os.mkdir(name, 0o700, dir_fd=there)
        with _opened(name, here) as inner, _opened(name, there) as outer:
            self.clone_names(_names(inner), inner, outer, (*above, name))
            keep_attributes(os.fstat(inner), outer)


def _clone_plain(
    name: str, here: int, new: str, there: int, progress: Progress
) -> tuple[os.stat_result, os.stat_result]:
    """What has been copied, and to what."""
    # Not blocking: what was a file a moment ago may be a pipe that nobody writes to.
    reading = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=here)
    try:
        status = os.fstat(reading)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "is no file any more", name)
        writing = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=there)
        try:
            if not share_blocks(reading, writing):
                _copy_data(reading, writing, progress)
            keep_attributes(status, writing)
            return status, os.fstat(writing)
        finally:
            os.close(writing)
    finally:
        os.close(reading)


def keep_attributes(status: os.stat_result, target: int) -> None:
    """Give the open file or directory the owner, mode and times of its original, and make all of it last."""
    # Only root with all its rights may give files away; the copy of another belongs to that one.
    with suppress(PermissionError):
        os.fchown(target, status.st_uid, status.st_gid)
    os.fchmod(target, stat.S_IMODE(status.st_mode))
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
    os.fsync(target)


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
        progress.add(copied)
