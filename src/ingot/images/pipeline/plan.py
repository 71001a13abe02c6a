"""What is to be copied, in units that are done or not."""

import hashlib
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ingot.images.content import Content, Extent

# What is remembered as done or not. Several are read at once where that is quick.
UNIT = 2 << 20


@dataclass(frozen=True, slots=True)
class Piece:
    """`length` bytes of the disk from `start` on."""

    start: int
    length: int


class Plan:
    """The bytes of a content that may be other than zeros, as units of at most UNIT bytes in the order in which the
    storage below has them. The same content makes the same plan, told by its `digest`."""

    def __init__(self, content: Content) -> None:
        """Raises ImageFault."""
        self.units = list(_units(content))
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


def _units(content: Content) -> Iterator[list[Piece]]:
    unit: list[Piece] = []
    room = UNIT
    for extent in sorted(_data(content), key=lambda extent: extent.stored):
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
