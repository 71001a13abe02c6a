"""Directories for as long as a process needs them, removed by a later one when the process was killed."""

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Self

# One that is younger may have been made a moment ago, and not be locked so far.
_YOUNG_SECONDS = 60.0


class ScratchDirectory:
    """A new private directory among the temporary files, named `prefix` and something random. A context manager. Its
    process holds a lock on it; those of this user with the same prefix that nobody holds any more are removed first."""

    def __init__(self, prefix: str) -> None:
        """Raises OSError."""
        _sweep(prefix)
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def close(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _sweep(prefix: str) -> None:
    for path in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        # Other processes sweep too, and not all that has such a name is ours.
        with contextlib.suppress(OSError):
            _remove_abandoned(path)


def _remove_abandoned(path: Path) -> None:
    """Raises OSError, BlockingIOError when it is in use."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if status.st_uid == os.geteuid() and time.time() - status.st_mtime > _YOUNG_SECONDS:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(descriptor)
