"""Bytes of a file that arrives from front to back, put aside until it is known where they go."""

import os
from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from ingot.images.fallocate import KEEP_SIZE, PUNCH_HOLE, fallocate
from ingot.images.fault import ImageFault
from ingot.images.own_file import create_own, open_own

# Each takes 16 bytes of memory.
_MOST_RANGES = 1 << 22


class Spool:
    """A sparse file with some ranges of another, each at its own place. Ranges are added in ascending order."""

    def __init__(self, path: Path, starts: "array[int]", ends: "array[int]", descriptor: int) -> None:
        self._path = path
        # How many bytes are put aside.
        self.total = sum(ends) - sum(starts)
        self.starts = starts
        self.ends = ends
        self._descriptor = descriptor
        # What was kept for checkpoints, by their number; how many were taken, and how many of these are noted.
        self._kept: dict[int, tuple[int, int]] = {}
        self._taken = self._noted = 0
        # Those that somebody may go on from. Of an earlier process it is not known what they need.
        self._latest = self._lasting = 0
        self._earlier = False
        self._notes: deque[bool] = deque()

    @classmethod
    def create(cls, path: Path) -> Self:
        """An empty one, also where an earlier one was left. Raises OSError."""
        return cls(path, array("Q"), array("Q"), create_own(path))

    @classmethod
    def reopen(cls, path: Path, starts: "array[int]", ends: "array[int]") -> Self:
        """One that an earlier process of this user wrote. Raises OSError when it is gone."""
        made = cls(path, starts, ends, open_own(path))
        made._earlier = True
        return made

    def add(self, start: int, data: memoryview) -> None:
        """Puts bytes aside. Raises ImageFault when they come in too many pieces, and OSError."""
        self._write(start, data)
        end = start + len(data)
        if self.ends and start <= self.ends[-1]:
            self.total += max(0, end - self.ends[-1])
            self.ends[-1] = max(self.ends[-1], end)
            return
        if len(self.starts) == _MOST_RANGES:
            raise ImageFault(str(self._path), "TooFragmented", f"over {_MOST_RANGES} pieces would be put aside")
        self.starts.append(start)
        self.ends.append(end)
        self.total += len(data)

    def keep(self, start: int, data: memoryview) -> None:
        """Keeps the bytes that a checkpoint needs which is taken now, until later ones are noted. They do not count in
        `total`. Raises OSError."""
        self._free()
        self._write(start, data)
        self._taken += 1
        self._kept[self._taken] = (start, start + len(data))

    def note(self, lasting: bool) -> None:
        """The oldest checkpoint that was not noted yet is where the next process goes on; with `lasting`, also
        after the loss of the machine. For any thread."""
        self._notes.append(lasting)

    def _free(self) -> None:
        """Gives back the room of what was kept for checkpoints that nobody will go on from any more."""
        while self._notes:
            self._noted += 1
            self._latest = self._noted
            if self._notes.popleft():
                self._lasting = self._noted
        if self._earlier and not self._lasting:
            return
        for number in [number for number in self._kept if number <= self._noted]:
            if number not in (self._latest, self._lasting):
                start, end = self._kept.pop(number)
                for first, stop in self._unneeded(start, end):
                    fallocate(self._descriptor, PUNCH_HOLE | KEEP_SIZE, first, stop - first)

    def _unneeded(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """What of a range was neither added nor is kept for others."""
        first, beyond = max(bisect_right(self.starts, start) - 1, 0), bisect_left(self.starts, end)
        added = zip(self.starts[first:beyond], self.ends[first:beyond], strict=True)
        for begin, stop in sorted([*added, *self._kept.values(), (end, end)]):
            if start < min(begin, end):
                yield start, min(begin, end)
            start = max(start, stop)

    def _write(self, start: int, data: memoryview) -> None:
        while len(data):
            count = os.pwrite(self._descriptor, data, start)
            start, data = start + count, data[count:]

    def has(self, start: int, length: int) -> bool:
        index = bisect_right(self.starts, start) - 1
        return index >= 0 and start + length <= self.ends[index]

    def kept(self, start: int, length: int) -> bytearray:
        """Bytes that were added or kept. Raises ImageFault when the file is cut."""
        buffer = bytearray(length)
        rest = memoryview(buffer)
        while len(rest):
            count = os.preadv(self._descriptor, [rest], start)
            if count == 0:
                raise ImageFault(str(self._path), "BadCheckpoint", f"it ends at byte {start}: begin again", retry=True)
            start, rest = start + count, rest[count:]
        return buffer

    def sync(self) -> None:
        os.fdatasync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)
