"""Where the partitions of a disk are."""

import struct

from ingot.images.boot.noted import NotedDisk, Unreadable

_SECTOR = 512
_SIGNATURE = b"\x55\xaa"
_PROTECTIVE = 0xEE
_GPT = b"EFI PART"
_EXTENDED = (0x05, 0x0F, 0x85)
_MOST, _MOST_LOGICAL = 128, 64


def partitions(disk: NotedDisk) -> list[int]:
    """Where each partition begins, in their order; a disk without a table is one. Raises Unreadable."""
    first = disk.read(0, _SECTOR)
    entries = _entries(first)
    if not entries:
        return [0]
    if any(kind == _PROTECTIVE for kind, _, _ in entries):
        return _of_gpt(disk)
    found: list[int] = []
    for kind, start, count in entries:
        if kind in _EXTENDED and start:
            found += _logical(disk, start)
        elif start and count:
            found.append(start * _SECTOR)
    return found


def _entries(sector: bytes) -> list[tuple[int, int, int]]:
    """The kind, first sector and number of sectors of each partition that a table names."""
    if sector[510:] != _SIGNATURE:
        return []
    entries = [struct.unpack_from("<4xB3xII", sector, 446 + 16 * index) for index in range(4)]
    return [(kind, start, count) for kind, start, count in entries if kind]


def _logical(disk: NotedDisk, extended: int) -> list[int]:
    """Those within an extended partition: a table for each, which leads to the next."""
    found: list[int] = []
    table: int | None = extended
    while table is not None and len(found) < _MOST_LOGICAL:
        entries = _entries(disk.read(table * _SECTOR, _SECTOR))
        here = [start for kind, start, count in entries if kind not in _EXTENDED and start and count]
        found += [(table + start) * _SECTOR for start in here]
        onward = [start for kind, start, _ in entries if kind in _EXTENDED and start]
        table = extended + onward[0] if onward and here else None
    return found


def _of_gpt(disk: NotedDisk) -> list[int]:
    header = disk.read(_SECTOR, _SECTOR)
    if not header.startswith(_GPT):
        raise Unreadable("its table of partitions is not there")
    table, count, size = struct.unpack_from("<QII", header, 72)
    if size < 128 or size % 8:
        raise Unreadable(f"entries of {size} bytes in its table of partitions")
    data = disk.read(table * _SECTOR, min(count, _MOST) * size)
    found = []
    for at in range(0, len(data), size):
        kind, start = data[at : at + 16], int.from_bytes(data[at + 32 : at + 40], "little")
        if any(kind):
            found.append(start * _SECTOR)
    return found
