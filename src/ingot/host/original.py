"""What is copied where a copy takes time: it must not change meanwhile, or the copy would be of no one moment."""

import contextlib
import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path

# Times of files go in steps of up to a hundredth of a second: of two changes within one only the first is to be seen.
_STEP_SECONDS = 0.01


class Changed(OSError):
    """The original, or the name in it that `filename` tells, was changed while it was copied."""


@contextlib.contextmanager
def left_alone(original: Path) -> Iterator[None]:
    """Raises Changed if the file, or anything in the tree, was changed while the block ran, by whoever it was: also
    where that is why the block itself failed."""
    before = _stamps(original)
    time.sleep(_STEP_SECONDS)
    try:
        yield
    except OSError:
        _check(original, before)
        raise
    _check(original, before)


def _check(original: Path, before: dict[str, tuple[int, int]]) -> None:
    after = _stamps(original)
    changed = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
    if changed:
        # A directory changes with the names in it, which come after it and tell more.
        raise Changed(errno.EBUSY, "was changed while it was copied", max(changed))


def _stamps(original: Path) -> dict[str, tuple[int, int]]:
    """Which file each name is, and when that was last changed: nobody can set this time back."""
    found = {}
    for name in _names(original):
        # What goes in this very moment changes the directory that it was in.
        with contextlib.suppress(FileNotFoundError):
            status = os.lstat(name)
            found[name] = status.st_ino, status.st_ctime_ns
    return found


def _names(original: Path) -> Iterator[str]:
    yield str(original)
    for above, directories, files in os.walk(original):
        yield from (f"{above}/{name}" for name in (*directories, *files))
