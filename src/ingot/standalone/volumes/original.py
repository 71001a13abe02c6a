"""What is copied where a copy takes time: it must not change meanwhile, or the copy would be of no one moment."""

import contextlib
import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path

from ingot.standalone.volumes import loop

# Times of files go in steps of up to a hundredth of a second: of two changes within one only the first is to be seen.
_STEP_SECONDS = 0.01


@contextlib.contextmanager
def left_alone(original: Path) -> Iterator[None]:
    """Raises OSError if the file, or anything in the tree, was changed while the block ran, by whoever it was."""
    before = _stamps(original)
    time.sleep(_STEP_SECONDS)
    yield
    if original.is_file():
        # What was written to its device reaches the file later.
        loop.flush(original)
    after = _stamps(original)
    changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    if changed:
        raise OSError(errno.EBUSY, "was changed while it was copied", str(changed[0]))


def _stamps(original: Path) -> dict[Path, tuple[int, int]]:
    """Which file each name is, and when that was last changed: nobody can set this time back."""
    found: dict[Path, os.stat_result] = {path: path.lstat() for path in (original, *original.rglob("*"))}
    return {path: (status.st_ino, status.st_ctime_ns) for path, status in found.items()}
