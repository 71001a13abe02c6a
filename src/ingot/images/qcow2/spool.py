"""Bytes of a file that arrives from front to back, put aside until it is known where they go."""

import os
from array import array
from bisect import bisect_right
from pathlib import Path
from typing import Self

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

    @classmethod
    def create(cls, path: Path) -> Self:
        """An empty one, also where an earlier one was left. Raises OSError."""
        return cls(path, array("Q"), array("Q"), create_own(path))

    @classmethod
    def reopen(cls, path: Path, starts: "array[int]", ends: "array[int]") -> Self:
        """One that an earlier process of this user wrote. Raises OSError when it is gone."""
        return cls(path, starts, ends, open_own(path))

    def add(self, start: int, data: memoryview) -> None:
        """Puts bytes aside. Raises ImageFault when they come in too many pieces, and OSError."""
        self.keep(start, data)
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
        """Writes bytes that are not counted, for `kept`."""
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
