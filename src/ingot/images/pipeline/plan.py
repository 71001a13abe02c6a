"""What is to be copied, in units that are done or not."""

import hashlib
import itertools
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ingot.images.content import Content, Extent
from ingot.images.fault import ImageFault

# What is remembered as done or not: so small that a slow line soon has some done. Many are read at once where that is
# quick.
UNIT = 256 << 10
# Each takes about 250 bytes. Of a disk in more of them, data that are in the same grain are taken as one, with the
# zeros between them: first in small grains, then in larger ones.
_MOST = 1 << 18
_GRAINS = (1 << 16, 1 << 20)


@dataclass(frozen=True, slots=True)
class Piece:
    """`length` bytes of the disk from `start` on."""

    start: int
    length: int


class Plan:
    """The bytes of a content that may be other than zeros, as units of UNIT bytes, the last one of fewer, in the order
    in which the storage below has them. The same content makes the same plan, told by its `digest`. It takes as much
    memory as there are places with data, however large the disk is."""

    def __init__(self, content: Content, subject: str) -> None:
        """`subject` names the content in errors. Raises ImageFault: also for data that are all over the place."""
        self._extents = sorted(_bounded(content, subject), key=lambda extent: extent.stored)
        # Where each ends, if all are put one behind the other.
        self._ends = list(itertools.accumulate(extent.length for extent in self._extents))
        self.total = self._ends[-1] if self._ends else 0
        digest = hashlib.sha256(b"%d/%d" % (content.size, UNIT))
        for extent in self._extents:
            digest.update(b",%d+%d" % (extent.start, extent.length))
        self.digest = digest.digest()

    def __len__(self) -> int:
        """How many units there are."""
        return -(-self.total // UNIT)

    def size(self, index: int) -> int:
        """How many bytes a unit has."""
        return min(UNIT, self.total - index * UNIT)

    def unit(self, index: int) -> list[Piece]:
        """Where on the disk they are."""
        begin, end = index * UNIT, index * UNIT + self.size(index)
        pieces: list[Piece] = []
        at = bisect_right(self._ends, begin)
        while begin < end:
            extent = self._extents[at]
            length = min(self._ends[at], end) - begin
            pieces.append(Piece(extent.end - (self._ends[at] - begin), length))
            begin, at = begin + length, at + 1
        return pieces


def joined(units: Iterable[list[Piece]], most: int) -> Iterator[Piece]:
    """The pieces of units in their order, those together that follow each other, up to `most` bytes."""
    last: Piece | None = None
    for piece in itertools.chain.from_iterable(units):
        if last is not None and last.start + last.length == piece.start and last.length + piece.length <= most:
            last = Piece(last.start, last.length + piece.length)
            continue
        if last is not None:
            yield last
        last = piece
    if last is not None:
        yield last


def _bounded(content: Content, subject: str) -> list[Extent]:
    """The extents of data, in grains that are large enough for them not to be too many."""
    for made in (_data(content), *(_in_grains(content, grain) for grain in _GRAINS)):
        found = list(itertools.islice(made, _MOST + 1))
        if len(found) <= _MOST:
            return found
    raise ImageFault(subject, "TooFragmented", f"its data are in over {_MOST} places, {_GRAINS[-1]} bytes apart")


def _data(content: Content) -> Iterator[Extent]:
    """Extents of data, neighbours joined where they are neighbours in the storage too."""
    last: Extent | None = None
    for extent in content.extents(0, content.size):
        if not extent.data:
            continue
        if last is not None and extent.start == last.end and extent.stored == last.stored + last.length:
            last = Extent(last.start, last.length + extent.length, True, last.stored)
            continue
        if last is not None:
            yield last
        last = extent
    if last is not None:
        yield last


def _in_grains(content: Content, grain: int) -> Iterator[Extent]:
    """Extents of data grown to whole grains, neighbours joined wherever they are stored."""
    start, end, stored = 0, -1, 0
    for extent in content.extents(0, content.size):
        if not extent.data:
            continue
        first = extent.start - extent.start % grain
        if first > end:
            if end > start:
                yield Extent(start, end - start, True, stored)
            start, stored = first, extent.stored
        end = min(-(-extent.end // grain) * grain, content.size)
    if end > start:
        yield Extent(start, end - start, True, stored)
