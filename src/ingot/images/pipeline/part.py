"""A target while it is written: locked, under a name that shows what it is, and published whole."""

import contextlib
import fcntl
import os
import stat
from pathlib import Path
from typing import Protocol

from ingot.host.files import sync_directory
from ingot.images.fault import ImageFault
from ingot.images.own_file import is_own
from ingot.images.pipeline.journal import Finished, Journal
from ingot.images.pipeline.naming import rename_new
from ingot.images.pipeline.target import FileTarget, Target, allocate


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
    def left(self) -> bool:
        """Whether an interrupted import has left something in it, as far as that can be seen."""

    @property
    def journal_path(self) -> Path: ...

    @property
    def spool_path(self) -> Path:
        """For what has to be put aside on the way."""

    @property
    def room(self) -> int | None:
        """How many bytes fit, where that is fixed."""

    def published(self, journal: Journal) -> Finished | None:
        """The disk when an earlier import, of which this is the journal, had finished it, and it is still there."""

    def start_over(self, size: int) -> None:
        """Makes it all zeros. It will have `size` bytes or more: where it cannot, that is an error now."""

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

    def __init__(self, path: Path, replace: bool, preallocate: bool = False, scratch: Path | None = None) -> None:
        """`replace`: whether there may be a file of that name. `preallocate`: whether it gets room for its holes.
        `scratch`: a directory of this import alone, for its spool. Raises ImageFault for a file that may not be there,
        and when another import writes to it; and OSError."""
        self.name = str(path)
        self._path = path
        self._replace = replace
        self._preallocate = preallocate
        self._part = path.with_name(f".{path.name}.ingot-part")
        self.journal_path = path.with_name(f".{path.name}.ingot-journal")
        self.spool_path = (scratch or path.parent) / f".{path.name}.ingot-spool"
        _check_plain(path)
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

    @property
    def left(self) -> bool:
        return self.begun

    def _check_free(self) -> None:
        if not self._replace and self._path.exists():
            raise ImageFault(self.name, "Exists", "there is such a file: remove it, or use --force to replace it")

    def published(self, journal: Journal) -> Finished | None:
        finished = journal.finished()
        with contextlib.suppress(FileNotFoundError):
            if finished is not None and finished.mark == _mark(self._path.lstat()):
                self._remove(journal)
                return finished
        return None

    def start_over(self, size: int) -> None:
        self._check_free()
        self.spool_path.unlink(missing_ok=True)
        os.ftruncate(self._descriptor, size)
        os.ftruncate(self._descriptor, 0)
        # So that it is told from a new one, whatever is written: what is begun is not empty.
        os.ftruncate(self._descriptor, 1)

    def take_up(self, target: Target) -> None:
        self._check_free()
        if (end := target.end) is not None:
            os.ftruncate(self._descriptor, end)

    def publish(self, size: int, target: Target, journal: Journal) -> None:
        length = target.finish(size)
        os.ftruncate(self._descriptor, length)
        if self._preallocate:
            allocate(self._descriptor, length)
        self._set_rights()
        os.fsync(self._descriptor)
        # It is for those who come after a kill; after the loss of the machine the name alone tells.
        journal.save_finished(Finished(_mark(os.fstat(self._descriptor)), size), for_good=False)
        self._rename()
        sync_directory(self._path.parent)
        self._remove(journal)

    def _set_rights(self) -> None:
        """Those of the file that is replaced; of a new one, what the umask says."""
        if not self._replace or not self._path.exists():
            os.fchmod(self._descriptor, 0o666 & ~_umask())
            return
        found = self._path.lstat()
        mode = stat.S_IMODE(found.st_mode)
        try:
            os.fchown(self._descriptor, found.st_uid, found.st_gid)
        except PermissionError:
            # Rights of its group would be those of another group now.
            mode &= 0o700
        os.fchmod(self._descriptor, mode)

    def _rename(self) -> None:
        """Raises ImageFault when a file has come to that name meanwhile, which need not be replaced."""
        if not os.path.samestat(os.fstat(self._descriptor), self._part.lstat()):
            raise ImageFault(str(self._part), "Changed", "somebody has put another file in its place: try again")
        if self._replace:
            self._part.replace(self._path)
            return
        try:
            rename_new(self._part, self._path)
        except FileExistsError:
            message = "a file of that name has come meanwhile: remove it, or use --force to replace it, and try again"
            raise ImageFault(self.name, "Exists", message, retry=True) from None

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


def _mark(found: os.stat_result) -> str:
    """It stays the same when a file gets another name, and does not when it is written."""
    return f"{found.st_dev}:{found.st_ino}:{found.st_size}:{found.st_mtime_ns}"


def _umask() -> int:
    """Asking the system for it would change it, for all threads."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("Umask:"):
            return int(line.split()[1], 8)
    return 0o077


def _check_plain(path: Path) -> None:
    """Raises ImageFault where something has the name that is no file, such as a link to a device of the machine."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(path.lstat().st_mode):
            raise ImageFault(str(path), "BadTarget", "what has the name of the disk is not a file: remove it")


def _locked(part: Path, path: Path) -> int:
    """The part, open and locked, and still under its name."""
    while True:
        descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), part.lstat()):
                    if is_own(descriptor):
                        return descriptor
                    # Somebody who may write to the directory has left it there, and could go on to write to it.
                    part.unlink()
        except BlockingIOError:
            os.close(descriptor)
            raise ImageFault(str(path), "InUse", "another import writes to it: wait for that to end") from None
        except OSError:
            os.close(descriptor)
            raise
        # It was published or removed, by us or by its former owner, since we opened it.
        os.close(descriptor)
