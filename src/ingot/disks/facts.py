"""What only the host can tell of an endpoint: whether caches can be passed by, and the size of its blocks."""

import fcntl
import os
import struct
from dataclasses import dataclass
from pathlib import Path

from ingot.disks.endpoint import Block, Endpoint, File

# <linux/fs.h>: the logical and the physical block size of a device.
_BLKSSZGET = 0x1268
_BLKPBSZGET = 0x127B
_MOST_SENSIBLE = 4096


@dataclass(frozen=True, slots=True)
class Facts:
    """`direct`: the whole chain can be opened with O_DIRECT. Block sizes in bytes; 0 where there are none to tell."""

    direct: bool = True
    logical: int = 0
    physical: int = 0


def look(endpoint: Endpoint) -> Facts:
    """The facts of an endpoint. Raises OSError when it cannot be opened for reading."""
    match endpoint:
        case File():
            below = look(endpoint.backing) if endpoint.backing is not None else Facts()
            # What a filesystem likes best may be a megabyte (NFS), which no guest could address.
            size = min(os.statvfs(endpoint.reach).f_bsize, _MOST_SENSIBLE)
            return Facts(below.direct and _opens_directly(endpoint.reach), size, size)
        case Block():
            return Facts(True, *_device_sizes(endpoint.path))
        case _:
            return Facts()


def _opens_directly(path: Path) -> bool:
    """Some filesystems (tmpfs, some network ones) refuse O_DIRECT; nothing but trying tells."""
    os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECT))
    except OSError:
        return False
    return True


def _device_sizes(path: Path) -> tuple[int, int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        logical, physical = (
            struct.unpack("i", fcntl.ioctl(descriptor, request, bytes(4)))[0] for request in (_BLKSSZGET, _BLKPBSZGET)
        )
    finally:
        os.close(descriptor)
    return logical, physical
