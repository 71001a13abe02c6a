"""A disk that an NBD server exports, as content."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Self, TypeVar

from ingot.images.content import Extent
from ingot.images.fault import ImageFault
from ingot.images.nbd import wire
from ingot.images.nbd.address import Address
from ingot.images.nbd.connection import Connection

# Pauses before a lost connection is made again; the server may just be restarting.
PAUSES = (0.1, 0.5, 2.0, 5.0)
# Holes that are shorter are read as what they are, zeros.
_LEAST_HOLE = 4096
# Extents may be shorter than a sector here and there; only a hostile server cuts a whole disk into such ones.
_LEAST_EXTENT = 512
_MOST_TINY = 4096

Result = TypeVar("Result")


class NbdContent:
    """Content behind an NBD server. Lost connections are made again, several threads have several of them where the
    server allows that.

    An export whose size is another one after that is refused with ImageFault `Changed`.
    """

    def __init__(self, address: Address, connections: int = 4, pauses: tuple[float, ...] = PAUSES) -> None:
        """Connects. A lost connection is made again after each of the `pauses` in seconds. Raises ImageFault."""
        self._address = address
        self._pauses = pauses
        first = Connection(address)
        self._terms = first.terms
        self._most = connections if first.terms.flags & wire.CAN_MULTI_CONN else 1
        self._free = threading.Condition()
        self._idle = [first]
        self._made = 1

    @property
    def size(self) -> int:
        return self._terms.size

    def readinto(self, start: int, buffer: memoryview) -> None:
        end = start + len(buffer)
        if end > self.size:
            raise ImageFault(str(self._address), "Truncated", f"bytes up to {end} are wanted of {self.size}")
        least = self._terms.least
        lower, upper = start - start % least, min(-(-end // least) * least, self.size)
        if (lower, upper) == (start, end):
            self._with(lambda connection: connection.read(start, buffer))
            return
        whole = bytearray(upper - lower)
        self._with(lambda connection: connection.read(lower, memoryview(whole)))
        buffer[:] = memoryview(whole)[start - lower : end - lower]

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        """Where the server has no block status, all of it is data; so are holes that are not worth a piece of their
        own."""
        if self._terms.context is None:
            if start < end:
                yield Extent(start, end - start, True, start)
            return
        kept = start
        for first, last in self._holes(start, end):
            if last - first >= _LEAST_HOLE or (first, last) == (start, end):
                if first > kept:
                    yield Extent(kept, first - kept, True, kept)
                yield Extent(first, last - first, False, first)
                kept = last
        if kept < end:
            yield Extent(kept, end - kept, True, kept)

    def _holes(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Where the server has zeros, neighbours joined."""
        position = start - start % self._terms.least
        upper = min(-(-end // self._terms.least) * self._terms.least, self.size)
        hole: tuple[int, int] | None = None
        told = 0
        while position < end:
            found = self._status(position, upper - position)
            told += len(found)
            for length, flags in found:
                first, last = max(start, position), min(position + length, end)
                position += length
                if not flags & wire.STATE_ZERO or last <= first:
                    continue
                if hole is not None and hole[1] == first:
                    hole = (hole[0], last)
                    continue
                if hole is not None:
                    yield hole
                hole = (first, last)
            if told > _MOST_TINY + (position - start) // _LEAST_EXTENT:
                why = f"it has cut {position - start} bytes into {told} extents; export it without block status"
                raise ImageFault(str(self._address), "BadAnswer", why)
        if hole is not None:
            yield hole

    def close(self) -> None:
        with self._free:
            idle, self._idle = self._idle, []
            self._made -= len(idle)
        for connection in idle:
            connection.close(polite=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _status(self, start: int, length: int) -> list[tuple[int, int]]:
        return self._with(lambda connection: connection.status(start, length))

    def _with(self, work: Callable[[Connection], Result]) -> Result:
        """Does it with a connection of its own, again where that is lost."""
        for pause in (*self._pauses, None):
            try:
                return self._once(work)
            except ImageFault as fault:
                if not fault.retry or pause is None:
                    raise
                time.sleep(pause)
        raise AssertionError("the last try returns or raises")

    def _once(self, work: Callable[[Connection], Result]) -> Result:
        connection = self._take()
        try:
            result = work(connection)
        except BaseException:
            connection.close(polite=False)
            self._give(None)
            raise
        self._give(connection)
        return result

    def _take(self) -> Connection:
        with self._free:
            self._free.wait_for(lambda: self._idle or self._made < self._most)
            if self._idle:
                return self._idle.pop()
            self._made += 1
        try:
            connection = Connection(self._address)
            if not connection.terms.like(self._terms):
                connection.close(polite=True)
                raise ImageFault(str(self._address), "Changed", "the export is not what it was; start again")
        except BaseException:
            self._give(None)
            raise
        return connection

    def _give(self, connection: Connection | None) -> None:
        """Hands back a connection, or the right to make one."""
        with self._free:
            if connection is None:
                self._made -= 1
            else:
                self._idle.append(connection)
            self._free.notify()
