"""Damages a small qcow2: its reader and the decoder of its stream agree on the disk, or raise ImageFault."""

import random
import struct
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from ingot.images.content import Extent, read
from ingot.images.fault import ImageFault
from ingot.images.qcow2 import stream as stream_module
from ingot.images.qcow2.header import FEATURES, FIELDS, MAGIC
from ingot.images.qcow2.reader import Qcow2
from ingot.images.qcow2.stream import Qcow2Stream

# Small ones, so that a small image crosses many of their borders.
stream_module._WINDOW = stream_module._LONGEST = 8 * 512
_CLUSTER = 512
_DISK = 80 * 1024 + 512
# More is not looked at: the work is as much as the disk says it has.
_LIMIT = 1 << 17
# Which number of the header and the tables becomes what.
_PATCH = struct.Struct(">HBB")
_TABLES = (0, 1, 2, 30, 40)
_COMPRESSED = 1 << 62
_SPOOL = Path(tempfile.gettempdir()) / f"ingot-fuzz-{random.randbytes(4).hex()}"  # noqa: S311


class _Memory:
    """Bytes as content."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    @property
    def size(self) -> int:
        return len(self._data)

    def readinto(self, start: int, buffer: memoryview) -> None:
        assert 0 <= start <= start + len(buffer) <= self.size
        buffer[:] = self._data[start : start + len(buffer)]

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        yield Extent(start, end - start, True, start)

    def close(self) -> None:
        """Nothing is held."""


def _template() -> bytes:
    """Three L2 tables, one behind data of its own; plain, zero and compressed clusters, these across borders."""
    clusters: dict[int, bytes] = {}
    header = FIELDS.pack(MAGIC, 3, 0, 0, 9, _DISK, 0, 3, _CLUSTER, 0, 0, 0, 0) + FEATURES.pack(0, 0, 0, 4, 112)
    clusters[0] = header + bytes(8)
    clusters[1] = struct.pack(">3Q", 2 * _CLUSTER, 40 * _CLUSTER, 30 * _CLUSTER)
    packed = b""
    entries = {table: [0] * 64 for table in (2, 40, 30)}
    for number, table in enumerate((2, 40, 30, 2, 40, 30, 2, 2)):
        packer = zlib.compressobj(9, zlib.DEFLATED, -12)
        piece = packer.compress(random.Random(number).randbytes(60) * 8 + bytes(32)) + packer.flush()  # noqa: S311
        start = 20 * _CLUSTER + len(packed)
        sectors = (start + len(piece) - 1) // 512 - start // 512
        entries[table][3 + number] = _COMPRESSED | sectors << 61 | start
        packed += piece
    for number in range(12):
        host = (3 + number if number < 8 else 33 + number) * _CLUSTER
        entries[(2, 40, 30)[number % 3]][20 + number] = host
        clusters[host // _CLUSTER] = bytes([number + 1]) * _CLUSTER
    entries[2][50] = 1
    clusters |= {table: struct.pack(">64Q", *numbers) for table, numbers in entries.items()}
    image = bytearray(46 * _CLUSTER)
    for index, data in clusters.items():
        image[index * _CLUSTER : index * _CLUSTER + len(data)] = data
    image[20 * _CLUSTER : 20 * _CLUSTER + len(packed)] = packed
    return bytes(image)


TEMPLATE = _template()


def one_input(data: bytes) -> None:
    image = bytearray(TEMPLATE)
    patches = len(data) // _PATCH.size * _PATCH.size
    for place, cluster, flags in _PATCH.iter_unpack(data[:patches]):
        table, number = divmod(place % (len(_TABLES) * 64), 64)
        at = _TABLES[table] * _CLUSTER + number * 8
        value = flags >> 6 << 61 | (cluster % 64) * _CLUSTER | (flags & 1) | (flags & 62) << 3
        image[at : at + 8] = value.to_bytes(8, "big")
    kept = len(image) - sum(data[patches:]) * 97 % len(image)
    for whole in (data, bytes(image), bytes(image[:kept])):
        _compare(whole)


def _compare(image: bytes) -> None:
    expected, _ = _by_reader(image)
    if image[20:24] != TEMPLATE[20:24]:
        # The windows are too small for larger clusters.
        return
    for piece, again in ((len(image) or 1, False), (5000, True)):
        found, reason = _by_stream(image, piece, again)
        if found is None and reason == "Overlapping":
            # Two tables that want the same bytes: what is gone cannot be read again.
            continue
        assert found == expected


def _by_reader(image: bytes) -> tuple[bytes | None, str]:
    try:
        disk = Qcow2(_Memory(image), "fuzz", _LIMIT)
        whole = bytes(read(disk, 0, disk.size))
        assert whole == b"".join(bytes(read(disk, at, min(7000, disk.size - at))) for at in range(0, disk.size, 7000))
        extents = list(disk.extents(0, disk.size))
    except ImageFault as fault:
        return None, fault.reason
    assert sum(extent.length for extent in extents) == disk.size
    assert all(not any(whole[extent.start : extent.end]) for extent in extents if not extent.data)
    return whole, ""


def _by_stream(image: bytes, piece: int, again: bool) -> tuple[bytes | None, str]:
    disk = bytearray(_LIMIT)

    def write(start: int, data: memoryview) -> None:
        assert 0 <= start < start + len(data) <= _LIMIT
        disk[start : start + len(data)] = data

    stream = Qcow2Stream(write, _SPOOL, subject="fuzz", limit=_LIMIT)
    try:
        for at in range(0, len(image), piece):
            stream.feed(image[at : at + piece])
            if again:
                state = stream.state()
                stream.close()
                stream = Qcow2Stream.resume(state, write, _SPOOL, subject="fuzz", limit=_LIMIT)
        stream.finish()
        assert stream.size is not None
        return bytes(disk[: stream.size]), ""
    except ImageFault as fault:
        return None, fault.reason
    finally:
        stream.close()
        _SPOOL.unlink()
