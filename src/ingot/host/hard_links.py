"""Files of a tree with several names: each is copied once, and gets its other names there, too."""

import os
from typing import TypeAlias

# A name from the top on, one directory at a time.
Way: TypeAlias = tuple[str, ...]

_PLACE = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# What the first names take of the memory, and each of them besides its letters.
_MOST_BYTES, _EACH = 32 << 20, 512


class HardLinks:
    """Where the copies are of files that have names yet to come, below the directory that is open as `top`.

    As many are kept in mind as fit into 32 MiB, tens of thousands; a file beyond that is copied for each of its names.
    """

    def __init__(self, top: int) -> None:
        self._top = top
        self._first: dict[tuple[int, int], tuple[Way, int]] = {}
        self._taken = 0

    def note(self, original: os.stat_result, path: Way, copy: os.stat_result) -> None:
        """The file has been copied to `path`, in one piece."""
        if original.st_nlink > 1 and self._taken < _MOST_BYTES:
            self._taken += _EACH + sum(map(len, path))
            self._first[original.st_dev, original.st_ino] = (path, copy.st_ino)

    def link(self, original: os.stat_result, name: str, there: int) -> bool:
        """Whether `name` in the directory `there` has become one more name of the copy; False where there is none, or
        it can have no more names. No link is followed on the way to it."""
        path, inode = self._first.get((original.st_dev, original.st_ino), ((), 0))
        if not path:
            return False
        at = os.dup(self._top)
        try:
            for part in path[:-1]:
                below = os.open(part, _PLACE, dir_fd=at)
                os.close(at)
                at = below
            if os.stat(path[-1], dir_fd=at, follow_symlinks=False).st_ino != inode:
                return False
            os.link(path[-1], name, src_dir_fd=at, dst_dir_fd=there, follow_symlinks=False)
        except OSError:
            # It cannot be reached any more, or has as many names as the filesystem gives one.
            return False
        finally:
            os.close(at)
        return True
