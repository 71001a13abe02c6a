"""Names that are given to files only where nobody else has them."""

import ctypes
import errno
import os
from pathlib import Path

# <linux/fcntl.h> and <linux/fs.h>
_AT_FDCWD = -100
_NOREPLACE = 1
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.renameat2.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]


def rename_new(path: Path, name: Path) -> None:
    """Gives the file at `path` another name, in the same filesystem. Raises OSError: FileExistsError when there is
    something of that name, which stays."""
    number = _renameat2(path, name)
    if number in (errno.EINVAL, errno.ENOSYS):
        # A filesystem that does not know of this, such as NFS, does by two steps.
        os.link(path, name, follow_symlinks=False)
        path.unlink()
    elif number:
        raise OSError(number, os.strerror(number), str(name))


def _renameat2(path: Path, name: Path) -> int:
    """The system's number for what went wrong, or 0."""
    if _LIBC.renameat2(_AT_FDCWD, os.fsencode(path), _AT_FDCWD, os.fsencode(name), _NOREPLACE) == 0:
        return 0
    return ctypes.get_errno()
