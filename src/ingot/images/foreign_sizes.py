"""How large a disk is that only QEMU can decode, as the front of its image says: nothing behind that is needed."""

import struct
import uuid
from collections.abc import Callable, Iterator

from ingot.images.content import Extent
from ingot.images.fault import ImageFault
from ingot.images.foreign_formats import vhdx_items
from ingot.images.vmdk_grains import SECTOR

# How many bytes it takes where the first sector does not say it. The metadata of a vhdx may be anywhere; programs that
# make one have them at 2 MiB or so.
FRONTS = {"vhdx": 8 << 20}

_VMDK = struct.Struct("<4s8xQ")
_VDI = struct.Struct("<368xQ")
# What it says of its size; cylinders, heads and sectors of a track.
_VHD = struct.Struct(">48xQHBB")
_VHDX_SIZE = uuid.UUID("2fa54224-cd1b-4876-b211-5dbed83bf4b8").bytes_le
_CURE = "make it one whole qcow2 with `qemu-img convert -O qcow2`, or say how large the volume is to be"


class _Front:
    """The front of an image, as content."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.size = len(data)

    def readinto(self, start: int, buffer: memoryview) -> None:
        buffer[:] = self._data[start : start + len(buffer)]

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        yield Extent(start, end - start, True, start)

    def close(self) -> None:
        """Nothing is held."""


def size_by_front(front: bytes, format: str, subject: str) -> int:
    """The size of the disk in an image of `format`, a key of SIZES, by its first sector or as many bytes as FRONTS has,
    or all that there are. Whether the image is a good one is not looked at. Raises ImageFault where it is not said."""
    try:
        size = SIZES[format](front, subject)
    except (struct.error, ImageFault):
        size = 0
    if size <= 0:
        raise ImageFault(subject, "SizeNotKnown", f"this {format} does not say in front how large its disk is: {_CURE}")
    return size


def _vmdk(front: bytes, _subject: str) -> int:
    """Of one that is of several files, a text comes first."""
    magic, sectors = _VMDK.unpack_from(front)
    return int(sectors) * SECTOR if magic == b"KDMV" else 0


def _vdi(front: bytes, _subject: str) -> int:
    return int(_VDI.unpack_from(front)[0])


def _vhd(front: bytes, _subject: str) -> int:
    """By who made it, QEMU takes one or the other: there is room for both in the larger."""
    size, cylinders, heads, sectors = map(int, _VHD.unpack_from(front))
    return max(size, cylinders * heads * sectors * SECTOR)


def _vhdx(front: bytes, subject: str) -> int:
    found = vhdx_items(_Front(front), _VHDX_SIZE, subject)
    return max((int.from_bytes(size, "little") for size in found), default=0)


SIZES: dict[str, Callable[[bytes, str], int]] = {"vmdk": _vmdk, "vdi": _vdi, "vhd": _vhd, "vhdx": _vhdx}
