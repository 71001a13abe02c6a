"""A directory whose images are exported by their names, and nothing outside of it."""

import errno
import itertools
import os
import stat
from pathlib import Path

# More are neither listed nor looked at for it; they can still be asked for by name.
MOST_LISTED = 1000
_MOST_SEEN = 10 * MOST_LISTED
_MOST_LINKS = 4


class Folder:
    """Files by plain names. Hidden ones, and links that lead elsewhere than to a file beside them, are not there."""

    def __init__(self, path: Path) -> None:
        """Raises OSError."""
        self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def names(self) -> list[str]:
        with os.scandir(self._descriptor) as entries:
            seen = [entry.name for entry in itertools.islice(entries, _MOST_SEEN)]
        return list(itertools.islice(filter(self._served, sorted(seen)), MOST_LISTED))

    def open(self, name: str) -> int:
        """The file, open for reading. Raises KeyError when it is not served, and OSError."""
        try:
            descriptor = os.open(
                self._resolve(name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._descriptor
            )
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENAMETOOLONG):
                raise KeyError(name) from None
            raise
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise KeyError(name)
        return descriptor

    def close(self) -> None:
        os.close(self._descriptor)

    def _served(self, name: str) -> bool:
        try:
            found = os.stat(self._resolve(name), dir_fd=self._descriptor, follow_symlinks=False)
        except (OSError, KeyError):
            return False
        return stat.S_ISREG(found.st_mode)

    def _resolve(self, name: str) -> str:
        """The name of the file that is meant, after links within the directory. Raises KeyError, and OSError."""
        for _ in range(_MOST_LINKS):
            if not _plain(name):
                raise KeyError(name)
            if not stat.S_ISLNK(os.stat(name, dir_fd=self._descriptor, follow_symlinks=False).st_mode):
                return name
            name = os.readlink(name, dir_fd=self._descriptor)
        raise KeyError(name)


def _plain(name: str) -> bool:
    """Whether it names something in a directory, and nothing hidden."""
    return bool(name) and name.isprintable() and "/" not in name and not name.startswith(".")
