"""What an import writes to: a sparse file, or a block device that was emptied first."""

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from ingot.images.fallocate import KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE, fallocate
from ingot.images.fault import ImageFault
from ingot.images.pipeline.buffer import ALIGNMENT, Buffer

# The kernel empties so much at a time, so that the work can be broken off.
_STEP = 1 << 30
# Bytes that are all zeros in pieces of this size, and aligned to it, are left out of the target.
HOLE = 1 << 16
_ZEROS = bytes(HOLE)


class Target(Protocol):
    """A disk that is being written, by several threads at once. What nobody writes is zeros.

    `together`: what is written in pieces of so many bytes lies in one piece in the file too; 0 where all does.
    """

    together: int

    def write(self, start: int, data: memoryview) -> None:
        """Writes all of it, from the place in a Buffer that it belongs to. Raises OSError."""

    def clear(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Makes these bytes, each from a start to an end in ascending order, zeros as if nobody had written them.
        Raises OSError."""

    def sync(self) -> None:
        """Returns when what was written is on the disk. Raises OSError."""

    def state(self) -> bytes:
        """What has to be remembered of what was written so far, to go on with it."""

    @property
    def end(self) -> int | None:
        """Where a file that is gone on with is cut, as nothing is known of what is behind; None where it is not cut."""

    def finish(self, size: int) -> int:
        """Makes it a disk of `size` bytes; how many bytes the file has then. Raises OSError."""


class FileTarget:
    """An open file, or device, that is all zeros where it was not written.

    Aligned data go to the disk past the page cache where the filesystem allows it: that takes a tenth of the CPU, and
    leaves the cache to those who will read again.
    """

    together = 0

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._direct = _open_direct(descriptor)

    def state(self) -> bytes:
        return b""

    @property
    def end(self) -> int | None:
        return None

    def finish(self, size: int) -> int:
        return size

    def write(self, start: int, data: memoryview) -> None:
        begin, end = -start % ALIGNMENT, (start + len(data)) % ALIGNMENT
        if self._direct is None or begin + end >= len(data):
            _write(self.descriptor, start, data)
            return
        end = len(data) - end
        _write(self._direct, start + begin, data[begin:end])
        if begin:
            _write(self.descriptor, start, data[:begin])
        if end < len(data):
            _write(self.descriptor, start + end, data[end:])

    def clear(self, ranges: Iterable[tuple[int, int]]) -> None:
        size = os.lseek(self.descriptor, 0, os.SEEK_END)
        for start, end in ranges:
            _clear(self.descriptor, start, size if end >= size else end, size)

    def sync(self) -> None:
        os.fdatasync(self.descriptor)

    def close(self) -> None:
        """Lets go of what it has opened, which the descriptor that it was given is not."""
        if self._direct is not None:
            os.close(self._direct)


def _open_direct(descriptor: int) -> int | None:
    try:
        return os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_DIRECT | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.EINVAL:
            return None
        raise


def _write(descriptor: int, start: int, data: memoryview) -> None:
    written = os.pwrite(descriptor, data, start)
    while written < len(data):
        written += os.pwrite(descriptor, data[written:], start + written)


def write_sparse(target: Target, start: int, buffer: Buffer, length: int) -> int:
    """Writes what is in a buffer for `start` but for the pieces that are all zeros; how many bytes were written."""
    written, at = 0, 0
    view = buffer.place(start, length)
    while at < length:
        # The first piece ends where the target's pieces do.
        end = min(at + HOLE - (start + at) % HOLE, length)
        if buffer.equals(start, at, _zeros(end - at)):
            at = end
            continue
        begin = at
        while end < length and not buffer.equals(start, end, _zeros(min(HOLE, length - end))):
            end = min(end + HOLE, length)
        target.write(start + begin, view[begin:end])
        written += end - begin
        at = end
    return written


def _zeros(length: int) -> bytes:
    return _ZEROS if length == HOLE else _ZEROS[:length]


def empty_device(descriptor: int, size: int, keep: bool = False) -> None:
    """Makes a whole device zeros: by a discard that promises zeros, or else by writing them. With `keep` they are
    written in any case, so that a device whose room is shared has all of its own. Raises OSError."""
    _empty(descriptor, 0, size, keep)


def allocate(descriptor: int, size: int) -> None:
    """Gives a file of `size` bytes room for all of them, holes too; its bytes stay. Raises OSError."""
    for at in range(0, size, _STEP):
        length = min(_STEP, size - at)
        if not fallocate(descriptor, KEEP_SIZE, at, length):
            _fill(descriptor, at, at + length)


def _fill(descriptor: int, start: int, end: int) -> None:
    """Writes zeros to holes, where the filesystem gives no room without that."""
    while start < end:
        start = min(os.lseek(descriptor, start, os.SEEK_HOLE), end)
        try:
            stop = min(os.lseek(descriptor, start, os.SEEK_DATA), end)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            stop = end
        while start < stop:
            length = min(len(_ZEROS), stop - start)
            _write(descriptor, start, memoryview(_ZEROS)[:length])
            start += length


def _clear(descriptor: int, start: int, end: int, size: int) -> None:
    """Devices are emptied in whole blocks; what is beside them is written."""
    first = min(-(-start // ALIGNMENT) * ALIGNMENT, end)
    last = end if end == size else max(end - end % ALIGNMENT, first)
    for begin, stop in ((start, first), (last, end)):
        if begin < stop:
            _write(descriptor, begin, memoryview(_ZEROS)[: stop - begin])
    _empty(descriptor, first, last)


def _empty(descriptor: int, start: int, end: int, keep: bool = False) -> None:
    for at in range(start, end, _STEP):
        length = min(_STEP, end - at)
        if keep or not fallocate(descriptor, PUNCH_HOLE | KEEP_SIZE, at, length):
            fallocate(descriptor, ZERO_RANGE | KEEP_SIZE, at, length, needed=True)


def is_device(path: Path) -> bool:
    """Whether an import into `path` writes to a block device. Raises ImageFault for what is neither a device, nor a
    file, nor a place for one."""
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode) and not stat.S_ISBLK(path.stat().st_mode):
            raise ImageFault(str(path), "BadTarget", f"it is a symbolic link: name {path.resolve()} itself")
        mode = path.stat().st_mode
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise ImageFault(str(path), "BadTarget", f"there is no directory {path.parent}: make it first") from None
        if path.is_symlink():
            raise ImageFault(str(path), "BadTarget", "it is a symbolic link that leads nowhere: name a file") from None
        return False
    except OSError as error:
        raise ImageFault(str(path), "BadTarget", f"it cannot be looked at: {error.strerror}") from None
    if stat.S_ISDIR(mode):
        raise ImageFault(str(path), "BadTarget", "it is a directory: name a file in it, or a block device")
    if not stat.S_ISREG(mode) and not stat.S_ISBLK(mode):
        raise ImageFault(str(path), "BadTarget", "it is neither a file nor a block device")
    return stat.S_ISBLK(mode)
