"""A target while it is written: locked, under a name that shows what it is, and published whole."""

import contextlib
import fcntl
import os
import stat
from pathlib import Path
from typing import Protocol

from ingot.host.files import sync_directory
from ingot.images.fault import ImageFault
from ingot.images.pipeline.journal import Journal, boot_id
from ingot.images.pipeline.target import FileTarget, Target, empty_device


class Part(Protocol):
    """A target that this process alone writes to. All methods raise OSError."""

    @property
    def name(self) -> str: ...

    @property
    def target(self) -> FileTarget: ...

    @property
    def place(self) -> str:
        """Another one for another file or device."""

    @property
    def begun(self) -> bool:
        """Whether it was begun by `start_over`, of this import or of an earlier one."""

    @property
    def journal_path(self) -> Path: ...

    @property
    def spool_path(self) -> Path:
        """For what has to be put aside on the way."""

    @property
    def room(self) -> int | None:
        """How many bytes fit, where that is fixed."""

    def published(self, journal: Journal) -> int:
        """The size of the disk when an earlier import, of which this is the journal, had finished it; else 0."""

    def start_over(self) -> None:
        """Makes it all zeros."""

    def take_up(self, target: Target) -> None:
        """Keeps what an earlier import has written, as far as `target` knows of it."""

    def publish(self, size: int, target: Target, journal: Journal) -> None:
        """Makes it the finished disk of `size` bytes: on disk, under its name, without leftovers."""

    def discard(self, journal: Journal) -> None:
        """Gives back the room that a failed import has taken."""

    def close(self) -> None:
        """Lets go of it; what is written so far stays, for the next import."""


class FilePart:
    """The file `.NAME.ingot-part` beside the file that it becomes."""

    def __init__(self, path: Path, replace: bool) -> None:
        """`replace`: whether there may be a file of that name. Raises ImageFault for one that may not, and when
        another import writes to it; and OSError."""
        self.name = str(path)
        self._path = path
        self._replace = replace
        self._part = path.with_name(f".{path.name}.ingot-part")
        self.journal_path = path.with_name(f".{path.name}.ingot-journal")
        self.spool_path = path.with_name(f".{path.name}.ingot-spool")
        if not self.journal_path.exists():
            self._check_free()
        self._descriptor = _locked(self._part, path)
        self.target = FileTarget(self._descriptor)

    @property
    def room(self) -> int | None:
        return None

    @property
    def place(self) -> str:
        found = os.fstat(self._descriptor)
        return f"file:{found.st_dev}:{found.st_ino}"

    @property
    def begun(self) -> bool:
        return os.fstat(self._descriptor).st_size > 0

    def _check_free(self) -> None:
        if not self._replace and self._path.exists():
            raise ImageFault(self.name, "Exists", "there is such a file: remove it, or ask for it to be replaced")

    def published(self, journal: Journal) -> int:
        number, size = journal.published
        with contextlib.suppress(FileNotFoundError):
            if number and self._path.lstat().st_ino == number:
                self._remove(journal)
                return size
        return 0

    def start_over(self) -> None:
        self._check_free()
        self.spool_path.unlink(missing_ok=True)
        os.ftruncate(self._descriptor, 0)
        # So that it is told from a new one, whatever is written: what is begun is not empty.
        os.ftruncate(self._descriptor, 1)

    def take_up(self, target: Target) -> None:
        self._check_free()
        if (end := target.end) is not None:
            os.ftruncate(self._descriptor, end)

    def publish(self, size: int, target: Target, journal: Journal) -> None:
        os.ftruncate(self._descriptor, target.finish(size))
        os.fchmod(self._descriptor, 0o666 & ~_umask())
        os.fsync(self._descriptor)
        # It is for those who come after a kill; after the loss of the machine the name alone tells.
        journal.save_published(os.fstat(self._descriptor).st_ino, size, lasting=False)
        self._part.replace(self._path)
        sync_directory(self._path.parent)
        self._remove(journal)

    def discard(self, journal: Journal) -> None:
        # Blocks go back at once, even while somebody else still holds the file open.
        os.ftruncate(self._descriptor, 0)
        self._remove(journal)

    def _remove(self, journal: Journal) -> None:
        self.spool_path.unlink(missing_ok=True)
        self._unlink()
        journal.remove()

    def _unlink(self) -> None:
        """Takes the name away if it is still that of our file."""
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(self._descriptor), self._part.lstat()):
                self._part.unlink()

    def close(self) -> None:
        if not self.begun:
            self._unlink()
        self.target.close()
        os.close(self._descriptor)


def _umask() -> int:
    """Asking the system for it would change it, for all threads."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("Umask:"):
            return int(line.split()[1], 8)
    return 0o077


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
        # Its former owner published or removed it between our opening and our locking.
        os.close(descriptor)


class DevicePart:
    """A block device, written in place. It is whole when its journal, in the directory `state`, says so."""

    def __init__(self, path: Path, state: Path, replace: bool) -> None:
        """`replace`: whether a disk that is whole already is written again. Raises ImageFault when the device is in
        use, and OSError."""
        self.name = str(path)
        self._replace = replace
        self._descriptor = _exclusive(path)
        number = os.fstat(self._descriptor).st_rdev
        name = f"device-{os.major(number)}-{os.minor(number)}"
        self._kernel = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
        self.journal_path = state / f"{name}.ingot-journal"
        self.spool_path = state / f"{name}.ingot-spool"
        self._room = os.lseek(self._descriptor, 0, os.SEEK_END)
        self.target = FileTarget(self._descriptor)

    @property
    def room(self) -> int | None:
        return self._room

    @property
    def place(self) -> str:
        """The kernel counts the disks that it has seen since it started, so that none is taken for another."""
        sequence = self._kernel / "diskseq"
        count = sequence.read_text().strip() if sequence.exists() else ""
        return f"device:{boot_id()}:{self.journal_path.name}:{count}:{self._room}"

    @property
    def begun(self) -> bool:
        return True

    def published(self, journal: Journal) -> int:
        return 0 if self._replace else journal.published[1]

    def start_over(self) -> None:
        self.spool_path.unlink(missing_ok=True)
        empty_device(self._descriptor, self._room)

    def take_up(self, target: Target) -> None:
        """It is as it was left."""

    def publish(self, size: int, target: Target, journal: Journal) -> None:
        target.finish(size)
        os.fsync(self._descriptor)
        journal.save_published(1, size, lasting=True)
        self.spool_path.unlink(missing_ok=True)

    def discard(self, journal: Journal) -> None:
        self.spool_path.unlink(missing_ok=True)
        journal.remove()

    def close(self) -> None:
        self.target.close()
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
