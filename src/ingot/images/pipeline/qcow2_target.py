"""A qcow2 that is written as its clusters come: the data first, and all tables behind them at the end."""

import struct
import threading
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from ingot.images.pipeline.buffer import Buffer
from ingot.images.pipeline.target import Target
from ingot.images.qcow2.header import FEATURES, FIELDS, MAGIC, SECTOR
from ingot.images.qcow2.layout import CLUSTER, CLUSTER_BITS

_ENTRIES = CLUSTER >> 3
_COUNTS = CLUSTER >> 1
_COPIED = 1 << 63


class Qcow2Target:
    """The disk in a qcow2 file, as a target: what is written gets the next cluster of `file`.

    `clusters` is the `state` of an earlier one that this goes on from; the file ends at `end` then.
    """

    # Few chunks of an image are cut by that: later imports take those that are in one piece.
    together = 2 << 20

    def __init__(self, file: Target, clusters: bytes = b"") -> None:
        self._file = file
        # The disk's clusters in the order of the file, where the header is before them.
        self._order = array("Q", clusters)
        self._places = {cluster: index + 1 for index, cluster in enumerate(self._order)}
        self._lock = threading.Lock()

    @property
    def end(self) -> int:
        """The tables belong here, behind the clusters that are there."""
        return (1 + len(self._order)) * CLUSTER

    def state(self) -> bytes:
        with self._lock:
            return self._order.tobytes()

    def write(self, start: int, data: memoryview) -> None:
        for place, length in self._placed(start, len(data)):
            self._file.write(place, data[:length])
            data = data[length:]

    def clear(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Clusters that are in the file have a part of it; others are zeros anyway."""
        known = sorted(self._places)
        for start, end in ranges:
            first = bisect_left(known, start // CLUSTER)
            for cluster in known[first : bisect_left(known, -(-end // CLUSTER))]:
                begin, stop = max(start - cluster * CLUSTER, 0), min(end - cluster * CLUSTER, CLUSTER)
                place = self._places[cluster] * CLUSTER
                self._file.clear([(place + begin, place + stop)])

    def sync(self) -> None:
        self._file.sync()

    def _placed(self, start: int, length: int) -> list[tuple[int, int]]:
        """Where in the file the bytes go: each place, and how many follow each other there."""
        places: list[tuple[int, int]] = []
        end = start + length
        with self._lock:
            while start < end:
                cluster, inside = divmod(start, CLUSTER)
                if cluster not in self._places:
                    self._order.append(cluster)
                    self._places[cluster] = len(self._order)
                place, count = self._places[cluster] * CLUSTER + inside, min(CLUSTER - inside, end - start)
                if places and sum(places[-1]) == place:
                    places[-1] = (places[-1][0], places[-1][1] + count)
                else:
                    places.append((place, count))
                start += count
        return places

    def finish(self, size: int) -> int:
        tables = _Tables(size, self._order)
        at = self.end
        for cluster in tables.clusters():
            self._write_table(at, cluster)
            at += CLUSTER
        self._write_table(0, tables.header())
        return at

    def _write_table(self, at: int, cluster: bytes) -> None:
        place = Buffer(CLUSTER).place(at, CLUSTER)
        place[: len(cluster)] = cluster
        self._file.write(at, place)


class _Tables:
    """The tables of a file whose clusters are a header, `order`, L2 tables, L1, refcount blocks, refcount table."""

    def __init__(self, size: int, order: "array[int]") -> None:
        # QEMU would not show a part of a sector.
        self._size = -(-size // SECTOR) * SECTOR
        self._order = order
        self._used = sorted({cluster // _ENTRIES for cluster in order})
        self._l1_entries = -(-size // (CLUSTER * _ENTRIES))
        self._l2 = 1 + len(order)
        self._l1 = self._l2 + len(self._used)
        self._blocks = self._l1 + -(-self._l1_entries // _ENTRIES)
        blocks = table = 1
        while blocks * _COUNTS < self._blocks + blocks + table or table * _ENTRIES < blocks:
            blocks = -(-(self._blocks + blocks + table) // _COUNTS)
            table = -(-blocks // _ENTRIES)
        self._table = self._blocks + blocks
        self._end = self._table + table

    def header(self) -> bytes:
        l1 = (self._l1_entries, self._l1 * CLUSTER)
        table = (self._table * CLUSTER, self._end - self._table)
        fields = FIELDS.pack(MAGIC, 3, 0, 0, CLUSTER_BITS, self._size, 0, *l1, *table, 0, 0)
        # 2^4 bits for each reference count; the header's length with the method of compression and its padding.
        return fields + FEATURES.pack(0, 0, 0, 4, 112) + bytes(8)

    def clusters(self) -> Iterator[bytes]:
        """All of them, in the order of the file."""
        yield from self._l2_tables()
        places = {used: (self._l2 + index) * CLUSTER | _COPIED for index, used in enumerate(self._used)}
        yield from _tables(places.get(index, 0) for index in range(self._l1_entries))
        for first in range(0, self._end, _COUNTS):
            yield (b"\0\1" * min(_COUNTS, self._end - first)).ljust(CLUSTER, b"\0")
        yield from _tables(block * CLUSTER for block in range(self._blocks, self._table))

    def _l2_tables(self) -> Iterator[bytes]:
        inside: dict[int, list[tuple[int, int]]] = {used: [] for used in self._used}
        for index, cluster in enumerate(self._order):
            inside[cluster // _ENTRIES].append((cluster % _ENTRIES, (1 + index) * CLUSTER | _COPIED))
        for used in self._used:
            entries = [0] * _ENTRIES
            for entry, place in inside[used]:
                entries[entry] = place
            yield from _tables(entries)


def _tables(entries: Iterable[int]) -> Iterator[bytes]:
    """Numbers of 8 bytes each, in whole clusters."""
    numbers = list(entries)
    for first in range(0, len(numbers), _ENTRIES):
        part = numbers[first : first + _ENTRIES]
        yield struct.pack(f">{len(part)}Q", *part).ljust(CLUSTER, b"\0")
