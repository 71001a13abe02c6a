"""Files of this machine that stay as they are while they are read."""

import contextlib
import fcntl
import os
import struct
from pathlib import Path

from ingot.images.content import descriptor_of
from ingot.images.fault import ImageFault

# <fcntl.h>: kind, whence, start, length, process.
_LOCK = struct.Struct("hhqqi4x")
# What QEMU locks of a file (block/file-posix.c): these bytes while it may write it, or make it longer, and the last one
# while its bytes are not to be relied on, as those of a copy that is not complete.
_IN_USE = (101, 103, 200)


class StillFile:
    """The file as it is now. `identity` is that of this version of it only."""

    def __init__(self, path: Path) -> None:
        """Raises ImageFault for one that QEMU may write, as what it has in memory belongs to the disk too, and for what
        is no file. And OSError."""
        self._path = path
        descriptor = descriptor_of(path)
        try:
            self.identity = version(os.fstat(descriptor))
            if any(_is_locked(descriptor, byte) for byte in _IN_USE):
                message = "a machine or a program of QEMU has it open and may write it: stop that first, or give a copy"
                raise ImageFault(str(path), "InUse", message)
        finally:
            os.close(descriptor)

    def check(self) -> None:
        """Raises ImageFault when the file has changed, or is there no more."""
        with contextlib.suppress(FileNotFoundError):
            if version(self._path.stat()) == self.identity:
                return
        raise ImageFault(str(self._path), "Changed", "it was changed while it was read: start again")


def version(found: os.stat_result) -> str:
    """Another one when the file has been written, or is another one."""
    return f"file:{found.st_dev}:{found.st_ino}:{found.st_size}:{found.st_mtime_ns}:{found.st_ctime_ns}"


def _is_locked(descriptor: int, byte: int) -> bool:
    # Where the filesystem has no locks, QEMU has none either.
    with contextlib.suppress(OSError):
        wanted = _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0)
        found = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, wanted)
        return bool(_LOCK.unpack(found)[0] != fcntl.F_UNLCK)
    return False
