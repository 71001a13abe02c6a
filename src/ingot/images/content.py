"""Bytes that can be read at any place: a disk, or a file that a disk is in."""

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from ingot.images.fault import ImageFault


@dataclass(frozen=True, slots=True)
class Extent:
    """`length` bytes from `start` on. `data` is False where all of them are known to be zeros without being read.

    `stored` is where they are in the storage below, for readers who want to go through that in its own order.
    """

    start: int
    length: int
    data: bool
    stored: int

    @property
    def end(self) -> int:
        return self.start + self.length


class NotNear(Exception):
    """What was to be read would have to be waited for, and the reader does not want to. Nothing was done about it."""


class Content(Protocol):
    """Bytes that do not change, read at any place by several threads at once."""

    @property
    def size(self) -> int: ...

    def readinto(self, start: int, buffer: memoryview) -> None:
        """Fills the whole buffer with the bytes from `start` on; holes as zeros. Raises ImageFault, also where the
        buffer goes beyond the end."""

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        """What is from `start` to `end`, in order and without gaps; a long range may come in several extents."""

    def close(self) -> None:
        """Lets go of what is held. Nobody may read any more."""


def descriptor_of(path: Path, flags: int = os.O_RDONLY) -> int:
    """A file or block device of this machine, opened. Raises OSError, and ImageFault for what is neither: a pipe would
    be waited for."""
    descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK)
    kind = os.fstat(descriptor).st_mode
    if stat.S_ISREG(kind) or stat.S_ISBLK(kind):
        return descriptor
    os.close(descriptor)
    pipe = "; `ingot image pull - FILE` reads what comes through a pipe" if stat.S_ISFIFO(kind) else ""
    raise ImageFault(str(path), "BadSource", f"it is no file and no block device{pipe}")


class FileContent:
    """A file or block device of this machine."""

    def __init__(self, path: Path) -> None:
        """Raises OSError and ImageFault when it cannot be opened."""
        self.path = path
        self._descriptor = descriptor_of(path)
        self._size = os.lseek(self._descriptor, 0, os.SEEK_END)

    @property
    def size(self) -> int:
        return self._size

    def fileno(self) -> int:
        """The open file, for those who hand it to another process."""
        return self._descriptor

    def readinto(self, start: int, buffer: memoryview) -> None:
        while len(buffer):
            count = os.preadv(self._descriptor, [buffer], start)
            if count == 0:
                raise ImageFault(str(self.path), "Truncated", f"it ends at byte {start}, before it should")
            start += count
            buffer = buffer[count:]

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        while start < end:
            data = self._seek(start, os.SEEK_DATA, end)
            if data > start:
                yield Extent(start, data - start, False, start)
            hole = self._seek(data, os.SEEK_HOLE, end) if data < end else end
            if hole > data:
                yield Extent(data, hole - data, True, data)
            start = hole

    def _seek(self, start: int, whence: int, end: int) -> int:
        try:
            return min(os.lseek(self._descriptor, start, whence), end)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return end
            if error.errno == errno.EINVAL:
                # A device that does not know holes: all of it is data.
                return start if whence == os.SEEK_DATA else end
            raise

    def close(self) -> None:
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class PartContent:
    """A part of other content, as a file in a tar. It does not close what it is a part of."""

    def __init__(self, whole: Content, start: int, size: int) -> None:
        self._whole = whole
        self._start = start
        self._size = size

    @property
    def size(self) -> int:
        return self._size

    def readinto(self, start: int, buffer: memoryview) -> None:
        if start + len(buffer) > self._size:
            raise ImageFault("part", "Truncated", f"bytes up to {start + len(buffer)} are wanted of {self._size}")
        self._whole.readinto(self._start + start, buffer)

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        for extent in self._whole.extents(self._start + start, self._start + end):
            yield Extent(extent.start - self._start, extent.length, extent.data, extent.stored)

    def close(self) -> None:
        """Nothing is held."""


def read(content: Content, start: int, length: int) -> bytearray:
    """Those bytes, in memory. Raises ImageFault."""
    buffer = bytearray(length)
    content.readinto(start, memoryview(buffer))
    return buffer
