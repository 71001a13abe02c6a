"""A disk as the qcow2 file that Ingot pushes and writes, without that file being anywhere."""

from collections.abc import Callable, Iterator

from ingot.images.content import Content, Extent
from ingot.images.fault import ImageFault
from ingot.images.qcow2.header import SECTOR
from ingot.images.qcow2.layout import CLUSTER, Layout

# How much is read at once in the search for zeros.
_PIECE = 4 << 20
_ZEROS = bytes(CLUSTER)


def allocated(content: Content) -> Iterator[int]:
    """The numbers of the clusters that have data by the content's own word; nothing is read."""
    last = -1
    for extent in content.extents(0, content.size):
        if extent.data:
            first = max(extent.start // CLUSTER, last + 1)
            last = (extent.end - 1) // CLUSTER
            yield from range(first, last + 1)


def nonzero(content: Content, progress: Callable[[int, int], None] = lambda done, total: None) -> Iterator[int]:
    """The numbers of the clusters that have other bytes than zeros: all that may have some are read.

    `progress` is told how much of the disk is known, and how much there is. Raises ImageFault.
    """
    buffer = bytearray(_PIECE)
    last = -1
    for extent in content.extents(0, content.size):
        if extent.data:
            start = max(extent.start // CLUSTER, last + 1) * CLUSTER
            end = min(-(-extent.end // CLUSTER) * CLUSTER, content.size)
            for at in range(start, end, _PIECE):
                length = min(_PIECE, end - at)
                content.readinto(at, memoryview(buffer)[:length])
                for inside in range(0, length, CLUSTER):
                    # It compares in place, where slices would be copied.
                    if not buffer.startswith(_ZEROS[: length - inside], inside):
                        yield (at + inside) // CLUSTER
                progress(at + length, content.size)
            last = max(last, (end - 1) // CLUSTER)
    progress(content.size, content.size)


class Qcow2Image:
    """The qcow2 file of the disk `disk`, read at any place; the disk is closed with it."""

    def __init__(self, disk: Content, layout: Layout | None = None, subject: str = "the qcow2 image") -> None:
        """`layout` says which clusters are in it; otherwise all that the disk does not call zeros."""
        self._disk = disk
        self._subject = subject
        self.layout = layout or Layout(disk.size, allocated(disk))
        if not 0 <= self.layout.size - disk.size < SECTOR:
            raise ValueError(f"a layout of {self.layout.size} bytes for a disk of {disk.size}")

    @property
    def disk(self) -> Content:
        """What the file is made of."""
        return self._disk

    @property
    def size(self) -> int:
        return self.layout.file_size

    def readinto(self, start: int, buffer: memoryview) -> None:
        if start + len(buffer) > self.size:
            message = f"bytes up to {start + len(buffer)} are wanted of {self.size}"
            raise ImageFault(self._subject, "Truncated", message)
        while len(buffer) and start < self.layout.data_start:
            inside = start % CLUSTER
            piece = self.layout.table(start // CLUSTER)[inside : inside + len(buffer)]
            buffer[: len(piece)] = piece
            start, buffer = start + len(piece), buffer[len(piece) :]
        while len(buffer):
            guest, length = self._together(start, len(buffer))
            self._read_disk(guest, buffer[:length])
            start, buffer = start + length, buffer[length:]

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        """All of it is data; `stored` is where it is on the disk."""
        if start < min(end, self.layout.data_start):
            tables = min(end, self.layout.data_start)
            yield Extent(start, tables - start, True, 0)
            start = tables
        while start < end:
            guest, length = self._together(start, end - start)
            yield Extent(start, length, True, guest)
            start += length

    def close(self) -> None:
        self._disk.close()

    def _together(self, start: int, most: int) -> tuple[int, int]:
        """Where the data from `start` of the file on are on the disk, and how many follow each other there."""
        clusters = self.layout.clusters
        index, inside = divmod(start - self.layout.data_start, CLUSTER)
        count = 1
        while count * CLUSTER - inside < most and clusters[index + count] == clusters[index] + count:
            count += 1
        return clusters[index] * CLUSTER + inside, min(count * CLUSTER - inside, most)

    def _read_disk(self, guest: int, part: memoryview) -> None:
        """The last cluster goes on with zeros where the disk ends."""
        there = max(0, min(len(part), self._disk.size - guest))
        self._disk.readinto(guest, part[:there])
        part[there:] = bytes(len(part) - there)
