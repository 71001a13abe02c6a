"""Short names of directories: the path of a unix socket may have 107 bytes and no more."""

import contextlib
import hashlib
import os
from pathlib import Path


class ShortPath:
    """A directory by a path of at most `longest` bytes: its own, or that of a symbolic link to it.

    The link has the same name every time. It lies where only root can write, or in the user's runtime directory, or
    in /tmp.
    """

    def __init__(self, directory: Path, longest: int) -> None:
        self._directory = directory
        self.path = directory if len(os.fsencode(directory)) <= longest else _link(directory, longest)

    def make(self) -> None:
        """Makes the link if it is needed and not there. Raises FileExistsError when somebody else has its name."""
        if self.path == self._directory or self._is_ours():
            return
        self.path.symlink_to(self._directory)

    def remove(self) -> None:
        """Removes the link, if there is one."""
        if self.path != self._directory and self._is_ours():
            self.path.unlink()

    def _is_ours(self) -> bool:
        with contextlib.suppress(OSError):
            return self.path.lstat().st_uid == os.geteuid() and self.path.readlink() == self._directory
        return False


def _link(directory: Path, longest: int) -> Path:
    digest = hashlib.sha256(os.fsencode(directory)).hexdigest()[:16]
    name = f"ingot-{os.geteuid()}-{digest}"
    if os.geteuid() == 0:
        return Path("/run") / name
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    usable = given and len(os.fsencode(given)) + 1 + len(name) <= longest and os.access(given, os.W_OK)
    return Path(given if usable else "/tmp") / name  # noqa: S108 - whose link it is is looked at
