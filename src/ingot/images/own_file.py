"""Files of ours in directories that others may write to as well."""

import errno
import os
import stat
from pathlib import Path

_FLAGS = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW


def is_own(descriptor: int) -> bool:
    """Whether an open file is a regular one of this user that no other name leads to: nobody else has written it."""
    found = os.fstat(descriptor)
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_nlink == 1


def create_own(path: Path) -> int:
    """A new file, open for reading and writing, that takes its name from whatever had it. Raises OSError."""
    path.unlink(missing_ok=True)
    return os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)


def open_own(path: Path) -> int:
    """A file that is there, open for reading and writing. Raises OSError: PermissionError for one that is not ours."""
    descriptor = os.open(path, _FLAGS)
    if not is_own(descriptor):
        os.close(descriptor)
        raise PermissionError(errno.EPERM, "it belongs to somebody else, or has a second name", str(path))
    return descriptor
