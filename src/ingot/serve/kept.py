"""Content from afar that is kept where it was read once, in a file without a name that goes with the process."""

import logging
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from ingot.host.files import private_directory
from ingot.images.content import Content, Extent

_log = logging.getLogger(__name__)

# What is fetched at least, and at most in one request.
BLOCK = 1 << 18
_MOST_BLOCKS = 16
# A disk that took no more is left alone for so long: to find out costs whole blocks where a few bytes are read.
_FULL_SECONDS = 30.0

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

    What comes after the allowance is used up, or while the disk takes no more, is fetched each time that it is read.
    """

    def __init__(self, content: Content, directory: Path, allowance: Allowance) -> None:
        """Takes over the content. Raises OSError when no file can be made in the directory, which may be gone."""
        private_directory(directory)
        self._directory = directory
        self._content = content
        self._file = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115 - close() closes it
        self._states = bytearray(-(-content.size // BLOCK))
        self._allowance = allowance
        self._change = threading.Condition()
        self._full_until = 0.0
        self._complained = False
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
            stop = min(end, (first + max(count, 1)) * BLOCK)
            part = buffer[: stop - start]
            if count:
                skipped = start - first * BLOCK
                part[:] = self._fetch(first, count)[skipped : skipped + len(part)]
            elif self._states[first] == _HERE:
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
            wanted = absent > 0 and time.monotonic() >= self._full_until
            count = self._allowance.take(absent) if wanted else 0
            self._states[first : first + count] = bytes([_COMING]) * count
            return count

    def _fetch(self, first: int, count: int) -> memoryview:
        """The bytes of blocks that were claimed. Raises ImageFault; they are then absent as before, and so are those
        that the disk does not take."""
        begin = first * BLOCK
        data = memoryview(bytearray(min(count * BLOCK, self.size - begin)))
        state = _ABSENT
        try:
            self._content.readinto(begin, data)
            if self._keep(begin, data):
                state = _HERE
        finally:
            with self._change:
                self._states[first : first + count] = bytes([state]) * count
                if state == _ABSENT:
                    self._allowance.give_back(count)
                self._change.notify_all()
        self._count(len(data))
        return data

    def _keep(self, begin: int, data: memoryview) -> bool:
        """Whether the disk has taken them."""
        try:
            written = 0
            while written < len(data):
                written += os.pwrite(self._file.fileno(), data[written:], begin + written)
        except OSError as error:
            self._full_until = time.monotonic() + _FULL_SECONDS
            if not self._complained:
                self._complained = True
                message = "%s takes no more (%s); what is read of URLs is fetched again each time"
                _log.warning(message, self._directory, error.strerror)
            return False
        return True

    def _count(self, length: int) -> None:
        with self._change:
            self.fetched += length
