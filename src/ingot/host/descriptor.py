"""Open files that are passed around, so that what was looked at is what is used, whatever its name leads to later."""

import os
from pathlib import Path


class Descriptor:
    """An open file, which is closed when nobody refers to this any more."""

    def __init__(self, number: int) -> None:
        self._number = number

    @classmethod
    def open(cls, path: Path, flags: int, directory: int | None = None) -> "Descriptor":
        """Opens a file, relative to the open `directory` when that is given. Raises OSError."""
        return cls(os.open(path, flags | os.O_CLOEXEC, dir_fd=directory))

    def __del__(self) -> None:
        os.close(self._number)

    def fileno(self) -> int:
        return self._number

    @property
    def path(self) -> Path:
        """A path to this very file, for us and for programs that we run as ourselves, as long as this is open."""
        return Path(f"/proc/{os.getpid()}/fd/{self._number}")

    def again(self, flags: int) -> "Descriptor":
        """The same file, opened once more with other flags. Raises OSError."""
        return Descriptor.open(self.path, flags)
