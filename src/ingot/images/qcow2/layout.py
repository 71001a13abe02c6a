"""Where everything is in the qcow2 that Ingot makes: all tables first, then the clusters in the disk's order.

The clusters have 64 KiB and are not compressed, so that they are the same pieces in every version of a disk, and are
read in the order of the disk. Zeros have no cluster.
"""

import struct
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from ingot.images.qcow2.header import FEATURES, FIELDS, MAGIC, MOST_BYTES, SECTOR

CLUSTER_BITS = 16
CLUSTER = 1 << CLUSTER_BITS
# Entries of 8 bytes in a table of one cluster, and of 2 bytes in a block of reference counts.
_ENTRIES = CLUSTER >> 3
_COUNTS = CLUSTER >> 1
_COPIED = 1 << 63
_ONE = b"\0\1"


class Layout:
    """The parts of the file, in clusters: header, refcount table, refcount blocks, L1, L2 tables, data."""

    def __init__(self, size: int, allocated: Iterable[int]) -> None:
        """For a disk of `size` bytes whose clusters of these numbers are not zeros. They come in ascending order.

        The disk in the file has whole sectors: QEMU would not show a part of one.
        """
        if not 0 < size <= MOST_BYTES:
            raise ValueError(f"a disk of {size} bytes: it must have from 1 to {MOST_BYTES}")
        self.size = -(-size // SECTOR) * SECTOR
        self.clusters = array("Q", allocated)
        if self.clusters and self.clusters[-1] * CLUSTER >= size:
            raise ValueError(f"cluster {self.clusters[-1]} of a disk of {size} bytes")
        self._used = array("Q", sorted({cluster // _ENTRIES for cluster in self.clusters}))
        self._l1_entries = -(-size // (CLUSTER * _ENTRIES))
        self._l1_clusters = -(-8 * self._l1_entries // CLUSTER)
        self._blocks, self._table = self._refcount_clusters()
        self._l1 = 1 + self._table + self._blocks
        self._l2 = self._l1 + self._l1_clusters
        self._data = self._l2 + len(self._used)

    @property
    def file_size(self) -> int:
        return (self._data + len(self.clusters)) * CLUSTER

    @property
    def data_start(self) -> int:
        """Where the tables end and the data begin in the file."""
        return self._data * CLUSTER

    def position(self, cluster: int) -> int | None:
        """Where a cluster of the disk is in the file; None for zeros."""
        index = bisect_left(self.clusters, cluster)
        there = index < len(self.clusters) and self.clusters[index] == cluster
        return (self._data + index) * CLUSTER if there else None

    def read_for(self, clusters: Iterable[int]) -> Iterator[int]:
        """The clusters of the file that are needed to read these of the disk, with the tables that lead there; those
        that are needed again are named again."""
        yield from (0, *range(self._l1, self._l2))
        for cluster in clusters:
            position = self.position(cluster)
            if position is not None:
                yield self._l2 + bisect_left(self._used, cluster // _ENTRIES)
                yield position // CLUSTER

    def table(self, index: int) -> bytes:
        """Cluster `index` of the file, of those before `data_start`."""
        if index == 0:
            return self._header().ljust(CLUSTER, b"\0")
        if index <= self._table:
            first = (index - 1) * _ENTRIES
            blocks = range(first, min(first + _ENTRIES, self._blocks))
            return _numbers((1 + self._table + block) * CLUSTER for block in blocks)
        if index < self._l1:
            first = (index - 1 - self._table) * _COUNTS
            counted = min(_COUNTS, self._data + len(self.clusters) - first)
            return (_ONE * counted).ljust(CLUSTER, b"\0")
        if index < self._l2:
            return self._l1_part(index - self._l1)
        return self._l2_table(index - self._l2)

    def _refcount_clusters(self) -> tuple[int, int]:
        """How many refcount blocks and how many clusters of the table that names them; they count themselves too."""
        others = 1 + self._l1_clusters + len(self._used) + len(self.clusters)
        blocks = table = 1
        while (wanted := -(-(others + blocks + table) // _COUNTS)) > blocks or -(-wanted // _ENTRIES) > table:
            blocks, table = wanted, -(-wanted // _ENTRIES)
        return blocks, table

    def _header(self) -> bytes:
        fields = FIELDS.pack(
            MAGIC,
            3,
            0,
            0,
            CLUSTER_BITS,
            self.size,
            0,
            self._l1_entries,
            self._l1 * CLUSTER,
            CLUSTER,
            self._table,
            0,
            0,
        )
        # 2^4 bits for each reference count; the header's length with the method of compression and its padding.
        return fields + FEATURES.pack(0, 0, 0, 4, 112) + bytes(8)

    def _l1_part(self, part: int) -> bytes:
        entries = [0] * _ENTRIES
        first = part * _ENTRIES
        for index in range(bisect_left(self._used, first), bisect_left(self._used, first + _ENTRIES)):
            entries[self._used[index] - first] = (self._l2 + index) * CLUSTER | _COPIED
        return _numbers(entries)

    def _l2_table(self, index: int) -> bytes:
        entries = [0] * _ENTRIES
        first = self._used[index] * _ENTRIES
        for place in range(bisect_left(self.clusters, first), bisect_left(self.clusters, first + _ENTRIES)):
            entries[self.clusters[place] - first] = (self._data + place) * CLUSTER | _COPIED
        return _numbers(entries)


def _numbers(entries: Iterable[int]) -> bytes:
    numbers = list(entries)
    return struct.pack(f">{len(numbers)}Q", *numbers).ljust(CLUSTER, b"\0")
