"""The tables of a qcow2 that arrives from front to back, as they come; all of them are put aside in a spool."""

from array import array
from collections.abc import Iterator

from ingot.images.qcow2.entries import Decoder, Run, unpack
from ingot.images.qcow2.header import Header
from ingot.images.qcow2.spool import Spool

# Beyond the end of every file, for one of which the end is not known yet.
ENDLESS = 1 << 62


class Arrivals:
    """Which tables are there. The L1 must come before an L2 is known as one: until then all bytes are put aside."""

    def __init__(self, subject: str, header: Header, spool: Spool) -> None:
        self._subject = subject
        self._header = header
        self._spool = spool
        self._decoder = Decoder(subject, header, ENDLESS)
        self._l1_length = 8 * header.l1_needed
        size = header.cluster_size
        self._l1_stop = -(-(header.l1_offset + self._l1_length) // size) * size
        self._offsets: array[int] | None = None
        self._places: frozenset[int] = frozenset()
        # The indexes of the tables, in the order in which they come.
        self._order: list[int] = []
        self._next = 0

    @property
    def complete(self) -> bool:
        return self._offsets is not None and self._next == len(self._order)

    @property
    def known(self) -> set[int]:
        """The indexes of the L2 tables that have come."""
        return set(self._order[: self._next])

    def know_end(self, end: int) -> None:
        """The file has ended; from now on what tables say is checked against that."""
        self._decoder = Decoder(self._subject, self._header, end)
        # An L1 that is the last in the file need not fill its cluster.
        if self._offsets is None and end >= self._header.l1_offset + self._l1_length:
            self._l1_stop = end

    def cut(self, done: int, end: int) -> tuple[int, bool]:
        """How far the bytes from `done` on are of one sort, at most to `end`, and whether they are put aside."""
        if self._offsets is None:
            return min(end, self._l1_stop), True
        if self._next == len(self._order):
            return end, False
        offset = self._offsets[self._order[self._next]]
        if done < offset:
            return min(end, offset), False
        return min(end, offset + self._header.cluster_size), True

    def arrive(self, done: int) -> Iterator[int]:
        """The indexes of the L2 tables that are there now that all before `done` is. Raises ImageFault."""
        if self._offsets is None:
            if done < self._l1_stop:
                return
            l1 = unpack(self._spool.kept(self._header.l1_offset, self._l1_length))
            self._offsets = self._decoder.l2_offsets(l1)
            there = (index for index, offset in enumerate(self._offsets) if offset)
            self._order = sorted(there, key=self._offsets.__getitem__)
            self._places = frozenset(self._offsets) | {0}
        while self._next < len(self._order):
            index = self._order[self._next]
            if self._offsets[index] + self._header.cluster_size > done:
                return
            self._next += 1
            yield index

    def border(self, index: int) -> int:
        """Where the stream was when an L2 table was known: what it says of bytes before comes too late for them."""
        assert self._offsets is not None
        return max(self._offsets[index] + self._header.cluster_size, self._l1_stop)

    def runs(self, index: int) -> Iterator[Run]:
        """What an L2 table that is there says. Raises ImageFault."""
        assert self._offsets is not None
        size = self._header.cluster_size
        table = unpack(self._spool.kept(self._offsets[index], size))
        start = index * size * self._header.l2_entries
        end = min(start + size * self._header.l2_entries, self._header.size)
        return self._decoder.runs(table, start, start, end, self._places)
