"""What is served under a name: bytes with a size, read-only or writable."""

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from ingot.images.content import Content, Extent, FileContent
from ingot.images.fault import ImageFault
from ingot.serve import space
from ingot.serve.direct import DirectFile
from ingot.serve.pool import Pool

# So much is fetched before it is read: it must not take longer than a read would.
_MOST_AHEAD = 1 << 20
# Reads of one export that wait for a network, over all clients.
_MOST_WAITING = 64


class Export(Protocol):
    """A disk that several connections use at once, from several threads.

    `direct` is an open file that has the same bytes, for those who can send from that.
    `pool`: threads for those who read it, where that may wait for a network, so that a connection has several reads
    under way. Each such export has its own: one whose network is silent must not keep those of others.
    All methods raise OSError or ImageFault. Nobody calls the changing ones of an export that is not `writable`.
    """

    @property
    def size(self) -> int: ...

    @property
    def writable(self) -> bool: ...

    @property
    def direct(self) -> DirectFile | None: ...

    @property
    def pool(self) -> Pool | None: ...

    @property
    def near(self) -> Content | None:
        """The same bytes, which raises NotNear instead of waiting for a network."""

    @property
    def fetched(self) -> int:
        """How many bytes came over a network for it so far."""

    def readinto(self, start: int, view: memoryview) -> None:
        """Fills the whole view."""

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        """As that of Content."""

    def ahead(self, start: int, length: int) -> None:
        """These bytes will be read soon. Fetching only the first of them is allowed."""

    def write(self, start: int, view: memoryview, through: bool) -> None:
        """Writes all of the view; `through`: it is on disk when this returns."""

    def zero(self, start: int, length: int, hole: bool, fast: bool) -> None:
        """Makes these bytes zeros: as a hole where `hole` allows it. Where `fast`, EOPNOTSUPP is raised rather than
        that they are written."""

    def trim(self, start: int, length: int) -> None:
        """These bytes are of no more use. Doing nothing is allowed."""

    def flush(self) -> None:
        """All that was written, over whichever connection, is on disk when this returns."""

    def close(self) -> None: ...


class FileExport:
    """A file or block device, as it is."""

    pool = None
    near = None
    fetched = 0

    def __init__(self, descriptor: int, name: str, writable: bool) -> None:
        """Takes over an open file. `name` is for errors."""
        self.writable = writable
        # Opened again by what it is, not by its name, which may lead elsewhere by now.
        self._content = FileContent(Path(f"/proc/self/fd/{descriptor}"))
        self.size = self._content.size
        self.direct: DirectFile | None = DirectFile(descriptor, self.size)
        self._descriptor = descriptor
        self._name = name

    def readinto(self, start: int, view: memoryview) -> None:
        if os.preadv(self._descriptor, (view,), start) != len(view):
            self._content.readinto(start, view)

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        return self._content.extents(start, end)

    def ahead(self, start: int, length: int) -> None:
        os.posix_fadvise(self._descriptor, start, length, os.POSIX_FADV_WILLNEED)

    def write(self, start: int, view: memoryview, through: bool) -> None:
        while len(view):
            count = os.pwritev(self._descriptor, (view,), start, os.RWF_DSYNC if through else 0)
            start += count
            view = view[count:]

    def zero(self, start: int, length: int, hole: bool, fast: bool) -> None:
        if space.zero(self._descriptor, start, length, hole):
            return
        if fast:
            raise OSError(errno.EOPNOTSUPP, "zeros must be written here", self._name)
        zeros = memoryview(bytes(min(length, 1 << 20)))
        while length:
            count = min(length, len(zeros))
            self.write(start, zeros[:count], through=False)
            start += count
            length -= count

    def trim(self, start: int, length: int) -> None:
        space.punch(self._descriptor, start, length)

    def flush(self) -> None:
        os.fdatasync(self._descriptor)

    def close(self) -> None:
        self._content.close()
        if self.direct is not None:
            self.direct.close()


class ContentExport:
    """Any content, read-only: the disk in a qcow2, an image in a registry, a file on a web server."""

    writable = False
    direct = None

    def __init__(
        self, content: Content, slow: bool, fetched: Callable[[], int] = lambda: 0, near: Content | None = None
    ) -> None:
        """Takes over the content. `slow`: whether reading may wait for a network. `fetched` tells how many bytes came
        over one for it. `near`: the same content without waiting, closed with it."""
        self._content = content
        self.near = near
        self._fetched = fetched
        self.pool = Pool(_MOST_WAITING) if slow else None

    @property
    def size(self) -> int:
        return self._content.size

    @property
    def fetched(self) -> int:
        return self._fetched()

    def readinto(self, start: int, view: memoryview) -> None:
        self._content.readinto(start, view)

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        return self._content.extents(start, end)

    def ahead(self, start: int, length: int) -> None:
        self._content.readinto(start, memoryview(bytearray(min(length, _MOST_AHEAD))))

    def write(self, start: int, view: memoryview, through: bool) -> None:
        raise _read_only()

    def zero(self, start: int, length: int, hole: bool, fast: bool) -> None:
        raise _read_only()

    def trim(self, start: int, length: int) -> None:
        raise _read_only()

    def flush(self) -> None:
        """Nothing is ever written."""

    def close(self) -> None:
        if self.pool is not None:
            self.pool.close()
        self._content.close()


def _read_only() -> ImageFault:
    return ImageFault("export", "ReadOnly", "it cannot be written to")
