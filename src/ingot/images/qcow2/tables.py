"""Where each byte of a qcow2's disk is in its file, by tables that are read when they are needed."""

import threading
from array import array
from collections import OrderedDict
from collections.abc import Iterator

from ingot.images.content import Content, read
from ingot.images.fault import ImageFault
from ingot.images.qcow2.entries import Decoder, Kind, Run, unpack
from ingot.images.qcow2.header import HEAD, BadHeader, Header

# Of L2 tables in memory: with clusters of 64 KiB they map 256 GiB.
_MOST_CACHED = 32 << 20
# Tables that lie side by side, as in the images that Ingot makes, come with one read.
_TOGETHER = 4


def check_head(head: bytes, subject: str, limit: int) -> Header:
    """The header, by the first HEAD bytes, of an image that can be decoded and whose disk has at most `limit` bytes.
    Raises ImageFault."""
    try:
        header = Header.parse(head)
        header.check_decodable()
    except BadHeader as fault:
        raise ImageFault(subject, "BadImage", f"it {fault}") from None
    if header.size > limit:
        raise ImageFault(subject, "TooLarge", f"its disk has {header.size} bytes; at most {limit} fit")
    return header


class Tables:
    """The L1 and L2 tables of an image, for several threads. All of the L1 is checked here, entries of L2 tables
    whenever they are used."""

    def __init__(self, content: Content, subject: str, limit: int) -> None:
        """Raises ImageFault."""
        self.header = check_head(bytes(read(content, 0, min(HEAD, content.size))), subject, limit)
        self._content = content
        self._decoder = Decoder(subject, self.header, content.size)
        length = 8 * self.header.l1_needed
        if self.header.l1_offset + length > content.size:
            raise ImageFault(subject, "Truncated", f"it ends at byte {content.size}, within its L1 table")
        self._l2 = self._decoder.l2_offsets(unpack(read(content, self.header.l1_offset, length)))
        self._offsets = frozenset(self._l2) | {0}
        self._cached: OrderedDict[int, array[int]] = OrderedDict()
        self._most = max(_TOGETHER, _MOST_CACHED >> self.header.cluster_bits)
        self._lock = threading.Lock()

    def runs(self, start: int, end: int) -> Iterator[Run]:
        """What is from `start` to `end` of the disk, in order and without gaps. Raises ImageFault."""
        span = self.header.cluster_size * self.header.l2_entries
        while start < end:
            index = start // span
            stop = min((index + 1) * span, end)
            if self._l2[index]:
                table = self._table(self._l2[index])
                yield from self._decoder.runs(table, index * span, start, stop, self._offsets)
            else:
                stop = self._absent(index, end, span)
                yield Run(start, stop - start, Kind.ZERO, 0, 0)
            start = stop

    def _absent(self, index: int, end: int, span: int) -> int:
        """Where the zeros end that begin with an L2 table that is not there."""
        while index * span < end and not self._l2[index]:
            index += 1
        return min(index * span, end)

    def _table(self, offset: int) -> "array[int]":
        with self._lock:
            if (found := self._cached.get(offset)) is not None:
                self._cached.move_to_end(offset)
                return found
        # Two threads may read the same table: that costs less than one waiting for the other's network.
        size = self.header.cluster_size
        count = 1
        while count < _TOGETHER and offset + count * size in self._offsets:
            count += 1
        data = memoryview(read(self._content, offset, count * size))
        tables = [unpack(data[index * size : (index + 1) * size]) for index in range(count)]
        with self._lock:
            for index, table in enumerate(tables):
                self._cached[offset + index * size] = table
            while len(self._cached) > self._most:
                self._cached.popitem(last=False)
        return tables[0]
