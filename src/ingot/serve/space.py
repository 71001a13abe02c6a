"""Zeros and holes in files and block devices, without writing them."""

import ctypes
import errno
import os

# <linux/falloc.h>
_KEEP_SIZE = 1
_PUNCH_HOLE = 2
_ZERO_RANGE = 16
_UNSUPPORTED = {errno.EOPNOTSUPP, errno.ENOTTY, errno.EINVAL, errno.ENODEV, errno.ENOSYS}

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_longlong, ctypes.c_longlong]


def zero(descriptor: int, start: int, length: int, hole: bool) -> bool:
    """Makes a range read as zeros, as a hole if `hole`; False where the filesystem cannot. Raises OSError."""
    if hole and _allocate(descriptor, _PUNCH_HOLE | _KEEP_SIZE, start, length):
        return True
    return _allocate(descriptor, _ZERO_RANGE | _KEEP_SIZE, start, length)


def punch(descriptor: int, start: int, length: int) -> None:
    """Gives the space of a range back, where the filesystem can. Raises OSError."""
    _allocate(descriptor, _PUNCH_HOLE | _KEEP_SIZE, start, length)


def _allocate(descriptor: int, mode: int, start: int, length: int) -> bool:
    while _LIBC.fallocate(descriptor, mode, start, length):
        error = ctypes.get_errno()
        if error in _UNSUPPORTED:
            return False
        if error != errno.EINTR:
            raise OSError(error, os.strerror(error))
    return True
