"""Where the partitions of a disk are."""

import struct

from ingot.images.boot.noted import NotedDisk, Unreadable

_SECTOR = 512
_SIGNATURE = b"\x55\xaa"
_PROTECTIVE = 0xEE
_GPT = b"EFI PART"
_MOST = 128


def partitions(disk: NotedDisk) -> list[int]:
    """Where each partition begins, in their order; a disk without a table is one. Raises Unreadable."""
    first = disk.read(0, _SECTOR)
    entries = [struct.unpack_from("<4xB3xII", first, 446 + 16 * index) for index in range(4)]
    if first[510:] != _SIGNATURE or not any(kind for kind, _, _ in entries):
        return [0]
    if any(kind == _PROTECTIVE for kind, _, _ in entries):
        return _of_gpt(disk)
    return [start * _SECTOR for kind, start, count in entries if kind and start and count]


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
