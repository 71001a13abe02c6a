"""What is to be copied, in units that are done or not."""

import hashlib
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ingot.images.content import Content, Extent
from ingot.images.fault import ImageFault

# What is remembered as done or not. Several are read at once where that is quick.
UNIT = 2 << 20
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
    """The bytes of a content that may be other than zeros, as units of at most UNIT bytes in the order in which the
    storage below has them. The same content makes the same plan, told by its `digest`."""

    def __init__(self, content: Content, subject: str) -> None:
        """`subject` names the content in errors. Raises ImageFault: also for data that are all over the place."""
        self.units = list(_units(_bounded(content, subject)))
        self.sizes = [sum(piece.length for piece in unit) for unit in self.units]
        self.total = sum(self.sizes)
        digest = hashlib.sha256(content.size.to_bytes(8, "big"))
        for unit in self.units:
            digest.update(b"".join(b"%d+%d," % (piece.start, piece.length) for piece in unit) + b"\n")
        self.digest = digest.digest()


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


def _units(extents: list[Extent]) -> Iterator[list[Piece]]:
    unit: list[Piece] = []
    room = UNIT
    for extent in sorted(extents, key=lambda extent: extent.stored):
        start, left = extent.start, extent.length
        while left:
            length = min(left, room)
            unit.append(Piece(start, length))
            start, left, room = start + length, left - length, room - length
            if room == 0:
                yield unit
                unit, room = [], UNIT
    if unit:
        yield unit


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
