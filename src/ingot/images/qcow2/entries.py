"""What the entries of a qcow2's tables say, checked before anything is read by them."""

import enum
import sys
from array import array
from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

from ingot.images.fault import ImageFault
from ingot.images.qcow2.header import SECTOR, Header

_OFFSET = 0x00FF_FFFF_FFFF_FE00
_COMPRESSED = 1 << 62
_ZERO = 1
# Of an extended entry's second number: one bit for each part of the cluster that has data, behind those for zeros.
_ALL_PARTS = (1 << 32) - 1


class Kind(enum.IntEnum):
    ZERO = 0
    PLAIN = 1
    COMPRESSED = 2


class Run(NamedTuple):
    """`length` bytes of the disk from `start` on, all in one way: zeros, plain bytes from `host` on in the file, or one
    cluster (or a part of one) that is compressed in the `stored` bytes from `host` on. `stored` may go a little beyond
    the end of the file, where zeros are meant."""

    start: int
    length: int
    kind: Kind
    host: int
    stored: int

    def after(self, count: int) -> "Run":
        """The same plain run without its first bytes."""
        return Run(self.start + count, self.length - count, self.kind, self.host + count, self.stored - count)


def unpack(data: bytes | bytearray | memoryview) -> "array[int]":
    """Big-endian numbers of 8 bytes, as all tables have them."""
    numbers = array("Q")
    numbers.frombytes(data)
    if sys.byteorder == "little":
        numbers.byteswap()
    return numbers


class Decoder:
    """Decodes and checks entries of one image. `end` is where its file ends."""

    def __init__(self, subject: str, header: Header, end: int) -> None:
        self._subject = subject
        self._header = header
        self._size = header.cluster_size
        self._end = end
        self._last_sector = -(-end // SECTOR) * SECTOR
        self._l1_end = header.l1_offset + 8 * header.l1_entries
        bits = header.cluster_bits
        self._size_shift = 62 - (bits - 8)
        self._packed_offset = (1 << self._size_shift) - 1
        self._sectors = (1 << bits - 8) - 1

    def l2_offsets(self, l1: Sequence[int]) -> "array[int]":
        """Where the L2 tables are, 0 for none. Raises ImageFault for tables that overlap each other, the header or the
        L1, or that are not wholly in the file."""
        offsets = array("Q", (entry & _OFFSET for entry in l1))
        seen = set()
        size = self._size
        for offset in offsets:
            if offset == 0:
                continue
            if offset % size:
                raise self.fault("Unaligned", f"has an L2 table at byte {offset}, not at the start of a cluster")
            if offset + size > self._end:
                raise self.fault("Truncated", f"has an L2 table at byte {offset}, but ends at {self._end}")
            if offset in seen or (self._header.l1_offset < offset + size and offset < self._l1_end):
                raise self.fault("Overlapping", f"has an L2 table at byte {offset}, where another table is")
            seen.add(offset)
        return offsets

    def runs(self, table: Sequence[int], base: int, start: int, end: int, tables: Container[int]) -> Iterator[Run]:
        """What is from `start` to `end` of the disk, by the L2 table that maps from `base` on; neighbours joined.

        `tables` has the offsets of the header and of all L2 tables, where no data can be. Raises ImageFault.
        """
        if self._header.extended:
            yield from _joined(self._subclusters(table, base, start, end, tables))
            return
        bits = self._header.cluster_bits
        size = 1 << bits
        kind, begin, host = Kind.ZERO, start, 0
        at = start
        while at < end:
            entry = table[at - base >> bits]
            next_at = min((at | size - 1) + 1, end)
            if entry & _COMPRESSED:
                if begin < at:
                    yield _run(begin, at, kind, host)
                yield self._packed(entry, at, next_at - at, tables)
                kind, begin, host = Kind.ZERO, next_at, 0
            elif entry == 0 or self._is_zero(entry, at, tables):
                if kind:
                    yield _run(begin, at, kind, host)
                    kind, begin, host = Kind.ZERO, at, 0
            else:
                place = (entry & _OFFSET) + (at & size - 1)
                if not kind or place != host + at - begin:
                    if begin < at:
                        yield _run(begin, at, kind, host)
                    kind, begin, host = Kind.PLAIN, at, place
            at = next_at
        if begin < end:
            yield _run(begin, end, kind, host)

    def _subclusters(
        self, table: Sequence[int], base: int, start: int, end: int, tables: Container[int]
    ) -> Iterator[Run]:
        """The same by extended entries, not joined."""
        bits = self._header.cluster_bits
        size, part = 1 << bits, 1 << bits - 5
        at = start
        while at < end:
            index = at - base >> bits
            entry, bitmap = table[2 * index], table[2 * index + 1]
            stop = min((at | size - 1) + 1, end)
            if entry & _COMPRESSED:
                yield self._packed(entry, at, stop - at, tables)
                at = stop
                continue
            offset = entry & _OFFSET
            used = bitmap & _ALL_PARTS
            if used & bitmap >> 32 or (used and not offset):
                raise self.fault("BadEntry", f"says two things about the cluster of byte {at} of its disk")
            self._check_place(offset, at, tables, bool(used))
            while at < stop:
                number = (at & size - 1) // part
                next_at = min((at | part - 1) + 1, stop)
                kind = Kind.PLAIN if used >> number & 1 else Kind.ZERO
                place = offset + (at & size - 1) if kind else 0
                if place >= self._end:
                    raise self.fault("Truncated", f"has byte {at} of its disk at {place}, beyond its end")
                yield _run(at, next_at, kind, place)
                at = next_at

    def _is_zero(self, entry: int, at: int, tables: Container[int]) -> bool:
        """Whether the entry of a cluster that is not compressed means zeros. Raises ImageFault for a wrong one."""
        zero = bool(entry & _ZERO)
        offset = entry & _OFFSET
        if zero and self._header.version < 3:
            raise self.fault("BadEntry", "is of version 2 and has a zero cluster, which came with version 3")
        self._check_place(offset, at, tables, not zero)
        return zero or offset == 0

    def _check_place(self, offset: int, at: int, tables: Container[int], used: bool) -> None:
        if offset & self._size - 1:
            raise self.fault("Unaligned", f"has the cluster of byte {at} of its disk at {offset}, not at a cluster")
        if not used or offset == 0:
            return
        if offset >= self._end:
            raise self.fault("Truncated", f"has the cluster of byte {at} of its disk at {offset}, beyond its end")
        if offset in tables or self._header.l1_offset <= offset < self._l1_end:
            raise self.fault("Overlapping", f"has the cluster of byte {at} of its disk at {offset}, in a table")

    def _packed(self, entry: int, at: int, length: int, tables: Container[int]) -> Run:
        host = entry & self._packed_offset
        stored = ((entry >> self._size_shift & self._sectors) + 1) * SECTOR - host % SECTOR
        end = host + stored
        if end > self._last_sector or host >= self._end:
            raise self.fault("Truncated", f"has the cluster of byte {at} of its disk at {host}, beyond its end")
        size = self._size
        first, last = host & -size, end - 1 & -size
        in_l1 = self._header.l1_offset < end and host < self._l1_end
        # It may be a little longer than a cluster, and so be in three.
        if in_l1 or first in tables or last in tables or (last - first > size and first + size in tables):
            raise self.fault("Overlapping", f"has the cluster of byte {at} of its disk at {host}, in a table")
        return Run(at, length, Kind.COMPRESSED, host, stored)

    def fault(self, reason: str, message: str) -> ImageFault:
        return ImageFault(self._subject, reason, f"it {message}")


def _run(start: int, end: int, kind: Kind, host: int) -> Run:
    return Run(start, end - start, kind, host, end - start if kind else 0)


def _joined(runs: Iterator[Run]) -> Iterator[Run]:
    """Neighbours on the disk as one, where they are neighbours in the file."""
    last = next(runs)
    for run in runs:
        follows = run.kind is Kind.ZERO or (run.kind is Kind.PLAIN and run.host == last.host + last.length)
        if run.kind is last.kind and follows:
            last = _run(last.start, run.start + run.length, last.kind, last.host)
        else:
            yield last
            last = run
    yield last
