"""A target while it is written: locked, under a name that shows what it is, and published whole."""

import contextlib
import fcntl
import os
import stat
from pathlib import Path
from typing import Protocol

from ingot.host.files import sync_directory
from ingot.images.fault import ImageFault
from ingot.images.pipeline.journal import Journal
from ingot.images.pipeline.target import FileTarget, empty_device


class Part(Protocol):
    """A target that this process alone writes to."""

    @property
    def target(self) -> FileTarget: ...

    @property
    def journal_path(self) -> Path: ...

    @property
    def room(self) -> int | None:
        """How many bytes fit, where that is fixed."""

    def start_over(self) -> None:
        """Makes it all zeros. Raises OSError."""

    def published(self, journal: Journal) -> bool:
        """Whether an earlier import, of which this is the journal, had finished it all but for cleaning up."""

    def publish(self, size: int, journal: Journal) -> None:
        """Makes it the finished disk of `size` bytes: on disk, under its name, without leftovers. Raises OSError."""

    def discard(self, journal: Journal) -> None:
        """Gives back the room that a failed import has taken."""

    def close(self) -> None:
        """Lets go of it; what is written so far stays, for the next import."""


class FilePart:
    """The file `.NAME.ingot-part` beside the file that it becomes. A regular file of that name is replaced."""

    def __init__(self, path: Path) -> None:
        """Raises ImageFault when another import writes to it, and OSError."""
        self._path = path
        self._part = path.with_name(f".{path.name}.ingot-part")
        self.journal_path = path.with_name(f".{path.name}.ingot-journal")
        self._descriptor = _locked(self._part, path)
        self.target = FileTarget(self._descriptor)

    @property
    def room(self) -> int | None:
        return None

    def start_over(self) -> None:
        os.ftruncate(self._descriptor, 0)

    def published(self, journal: Journal) -> bool:
        with contextlib.suppress(FileNotFoundError):
            return journal.published != 0 and self._path.lstat().st_ino == journal.published
        return False

    def publish(self, size: int, journal: Journal) -> None:
        os.ftruncate(self._descriptor, size)
        mask = os.umask(0o077)
        os.umask(mask)
        os.fchmod(self._descriptor, 0o666 & ~mask)
        os.fsync(self._descriptor)
        journal.save_published(os.fstat(self._descriptor).st_ino)
        self._part.replace(self._path)
        sync_directory(self._path.parent)
        journal.remove()

    def discard(self, journal: Journal) -> None:
        # Blocks go back at once, even while somebody else still holds the file open.
        with contextlib.suppress(OSError):
            os.ftruncate(self._descriptor, 0)
        self._part.unlink(missing_ok=True)
        journal.remove()

    def close(self) -> None:
        os.close(self._descriptor)


def _locked(part: Path, path: Path) -> int:
    """The part, open and locked, and still under its name."""
    while True:
        descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), part.lstat()):
                    return descriptor
        except BlockingIOError:
            os.close(descriptor)
            raise ImageFault(str(path), "InUse", "another import writes to it: wait for that to end") from None
        except OSError:
            os.close(descriptor)
            raise
        # Its former owner published it between our opening and our locking.
        os.close(descriptor)


class DevicePart:
    """A block device, written in place. It is whole when its journal, in the directory `state`, says so."""

    def __init__(self, path: Path, state: Path) -> None:
        """Raises ImageFault when the device is in use, and OSError."""
        self._path = path
        self._descriptor = _exclusive(path)
        number = os.fstat(self._descriptor).st_rdev
        self.journal_path = state / f"device-{os.major(number)}-{os.minor(number)}.ingot-journal"
        self._room = os.lseek(self._descriptor, 0, os.SEEK_END)
        self.target = FileTarget(self._descriptor)

    @property
    def room(self) -> int | None:
        return self._room

    def start_over(self) -> None:
        empty_device(self._descriptor, self._room)

    def published(self, journal: Journal) -> bool:
        return journal.published != 0

    def publish(self, size: int, journal: Journal) -> None:
        os.fsync(self._descriptor)
        journal.save_published(1)

    def discard(self, journal: Journal) -> None:
        journal.remove()

    def close(self) -> None:
        os.close(self._descriptor)


def _exclusive(path: Path) -> int:
    try:
        # The kernel refuses a second exclusive opener, a mounted filesystem's device among them.
        descriptor = os.open(path, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)
    except OSError as error:
        raise ImageFault(str(path), "InUse", f"the device cannot be had alone: {error.strerror}") from None
    if not stat.S_ISBLK(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ImageFault(str(path), "BadTarget", "it is no block device any more")
    return descriptor
