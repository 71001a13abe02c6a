"""A disk of which every read is noted: whoever reads what a boot reads leaves the order of that boot."""

from ingot.images.content import Content, read
from ingot.images.fault import ImageFault
from ingot.images.qcow2.layout import CLUSTER

# A kernel, its initrd and the programs of a large system have a fifth of it.
_MOST_BYTES = 512 << 20
# A disk that was made to be slow would go on for ever with small reads, or with names and links that lead nowhere.
_MOST_READS = 1 << 16
_MOST_STEPS = 1 << 19


class Unreadable(Exception):
    """What is there is no filesystem that is known, or makes no sense. Nothing can be foretold of it."""


class NotedDisk:
    """`clusters`: the numbers of those that were read, in the order in which they were first read."""

    def __init__(self, disk: Content) -> None:
        self._disk = disk
        self._reads = 0
        self._bytes = 0
        self._steps = 0
        self.clusters: dict[int, None] = {}

    @property
    def size(self) -> int:
        return self._disk.size

    @property
    def left(self) -> int:
        """How many bytes may still be read."""
        return _MOST_BYTES - self._bytes

    def read(self, start: int, length: int) -> bytes:
        """Raises Unreadable for what is not on the disk, and when more was read than any boot needs."""
        self._reads += 1
        self.note(start, length)
        try:
            return bytes(read(self._disk, start, length))
        except ImageFault as fault:
            raise Unreadable(str(fault)) from fault

    def note(self, start: int, length: int) -> None:
        """As `read`, where nobody needs to know what is there."""
        if start + length > self._disk.size:
            raise Unreadable(f"bytes {start} to {start + length} of a disk of {self._disk.size}")
        self.charge(length, steps=1)
        if length:
            self.clusters.update(dict.fromkeys(range(start // CLUSTER, (start + length - 1) // CLUSTER + 1)))

    def charge(self, length: int, steps: int = 0) -> None:
        """Takes note of bytes that are read, or are made of nothing, and of steps on the way to them. Raises Unreadable
        when that is too much: of bytes then and there, of steps from then on each time."""
        self._steps += steps
        if length > self.left or self._reads > _MOST_READS or self._steps > _MOST_STEPS:
            raise Unreadable("more is to be read than any boot needs")
        self._bytes += length
