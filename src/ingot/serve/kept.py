"""Content from afar that is kept where it was read once, in a file without a name that goes with the process."""

import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from ingot.images.content import Content, Extent

# What is fetched at least, and at most in one request.
BLOCK = 1 << 18
_MOST_BLOCKS = 16

_ABSENT, _COMING, _HERE = 0, 1, 2


class Allowance:
    """How many blocks all contents of a process may keep. Used by several threads."""

    def __init__(self, limit: int) -> None:
        """`limit` is in bytes."""
        self._lock = threading.Lock()
        self._left = limit // BLOCK

    def take(self, most: int) -> int:
        """How many of so many blocks may be kept."""
        with self._lock:
            count = min(most, self._left)
            self._left -= count
            return count

    def give_back(self, count: int) -> None:
        with self._lock:
            self._left += count


class KeptContent:
    """Blocks of other content, each fetched once for all who wait for it, neighbours in one request.

    What comes after the allowance is used up is fetched each time that it is read.
    """

    def __init__(self, content: Content, directory: Path, allowance: Allowance) -> None:
        """Takes over the content. Raises OSError when no file can be made in the directory."""
        self._content = content
        self._file = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115 - close() closes it
        self._states = bytearray(-(-content.size // BLOCK))
        self._allowance = allowance
        self._change = threading.Condition()
        # Bytes that came from the content.
        self.fetched = 0

    @property
    def size(self) -> int:
        return self._content.size

    def readinto(self, start: int, buffer: memoryview) -> None:
        end = start + len(buffer)
        while start < end:
            first = start // BLOCK
            count = self._claim(first, -(-end // BLOCK))
            if count:
                self._fetch(first, count)
            stop = min(end, (first + max(count, 1)) * BLOCK)
            part = buffer[: stop - start]
            if self._states[first] == _HERE:
                os.preadv(self._file.fileno(), [part], start)
            else:
                # It is not kept.
                self._content.readinto(start, part)
                self._count(len(part))
            buffer = buffer[stop - start :]
            start = stop

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        return self._content.extents(start, end)

    def close(self) -> None:
        self._content.close()
        self._file.close()
        self._allowance.give_back(len(self._states) - self._states.count(_ABSENT))

    def _claim(self, first: int, end: int) -> int:
        """How many blocks from `first` on we are to fetch; 0 when that one is here, or will not be kept."""
        with self._change:
            self._change.wait_for(lambda: self._states[first] != _COMING)
            absent = 0
            while first + absent < end and absent < _MOST_BLOCKS and self._states[first + absent] == _ABSENT:
                absent += 1
            count = self._allowance.take(absent) if absent else 0
            self._states[first : first + count] = bytes([_COMING]) * count
            return count

    def _fetch(self, first: int, count: int) -> None:
        """Fetches blocks that were claimed. Raises ImageFault and OSError; they are then absent as before."""
        begin = first * BLOCK
        data = memoryview(bytearray(min(count * BLOCK, self.size - begin)))
        state = _ABSENT
        try:
            self._content.readinto(begin, data)
            written = 0
            while written < len(data):
                written += os.pwrite(self._file.fileno(), data[written:], begin + written)
            state = _HERE
        finally:
            with self._change:
                self._states[first : first + count] = bytes([state]) * count
                if state == _ABSENT:
                    self._allowance.give_back(count)
                self._change.notify_all()
        self._count(len(data))

    def _count(self, length: int) -> None:
        with self._change:
            self.fetched += length
