"""Room in files, and holes, by fallocate(2)."""

import ctypes
import errno
import os

# <linux/falloc.h>
KEEP_SIZE = 1
PUNCH_HOLE = 2
ZERO_RANGE = 16
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
_CANNOT = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.ENODEV)


def fallocate(descriptor: int, mode: int, start: int, length: int, needed: bool = False) -> bool:
    """Whether the filesystem can do that, and has. Raises OSError; with `needed` also where it cannot."""
    if _LIBC.fallocate(descriptor, mode, start, length) == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT and not needed:
        return False
    raise OSError(number, os.strerror(number))
