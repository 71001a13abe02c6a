"""Whether a vmdk has all of its data: QEMU reads zeros behind the end of one that was cut off."""

import struct
import sys
from array import array
from collections.abc import Callable, Iterator

from ingot.images.content import Content, read

SECTOR = 512
# Flags; the disk's sectors, the sectors of a grain; grains of a table, and where the directory of tables is.
_HEADER = struct.Struct("<8xIQQ16xI8xQ")
_FOOTER = 3 * SECTOR
_AT_END = (1 << 64) - 1
_COMPRESSED = 1 << 16
# Before a compressed grain: its place on the disk and its length.
_MARKER = struct.Struct("<QI")
# All tables have so many, by the specification.
_GRAINS = 512
# QEMU's own bound; and enough for 64 TiB of the usual grains.
_MOST_SECTORS = 0x200000
_MOST_TABLES = 2 << 20
_PIECE = 1 << 18
# Entries below are grains that have no place in the file.
_FIRST_PLACE = 2


class CutOff(Exception):
    """Data that are not in the file, or cannot be; the message says which."""


def check_grains(content: Content) -> None:
    """Raises CutOff unless the tables of a sparse vmdk and all data that they name are within the file, and
    struct.error for one that is too short."""
    flags, capacity, grain, grains, directory = _header(content)
    if not 0 < grain <= _MOST_SECTORS or grains != _GRAINS:
        raise CutOff(f"its header has grains of {grain} sectors and {grains} of them in a table, not {_GRAINS}")
    tables = -(-capacity // (grain * grains))
    if tables > _MOST_TABLES:
        raise CutOff(f"its header has {tables} tables; at most {_MOST_TABLES} are read")
    needed = _compressed(content) if flags & _COMPRESSED else lambda place: place + grain * SECTOR
    for place in _highest(content, directory * SECTOR, tables):
        if (end := needed(place)) > content.size:
            raise CutOff(f"it ends at byte {content.size}, and has data up to {end}")


def _header(content: Content) -> tuple[int, int, int, int, int]:
    """The header that counts: the one at the end, where the first says so."""
    found: tuple[int, int, int, int, int] = _HEADER.unpack(_part(content, 0, _HEADER.size))
    if found[-1] == _AT_END:
        end = -(-content.size // SECTOR) * SECTOR
        found = _HEADER.unpack(_part(content, end - _FOOTER + SECTOR, _HEADER.size))
    return found


def _highest(content: Content, directory: int, tables: int) -> Iterator[int]:
    """For each table, where the last of its data are: what is cut off at all is cut off there."""
    for first in range(0, tables, _PIECE):
        count = min(_PIECE, tables - first)
        for sector in set(_numbers(content, directory + 4 * first, count)) - {0}:
            highest = max(_numbers(content, sector * SECTOR, _GRAINS))
            if highest >= _FIRST_PLACE:
                yield highest * SECTOR


def _compressed(content: Content) -> Callable[[int], int]:
    def end(place: int) -> int:
        data = place + _MARKER.size
        return data if data > content.size else data + int(_MARKER.unpack(read(content, place, _MARKER.size))[1])

    return end


def _numbers(content: Content, start: int, count: int) -> "array[int]":
    numbers = array("I", bytes(_part(content, start, 4 * count)))
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _part(content: Content, start: int, length: int) -> bytearray:
    if start < 0 or start + length > content.size:
        raise CutOff(f"it ends at byte {content.size}, within its tables")
    return read(content, start, length)
