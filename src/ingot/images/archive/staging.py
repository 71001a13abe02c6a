"""Files that become visible in a volume only when all of them are there."""

import contextlib
import ctypes
import os
import stat
from pathlib import Path
from typing import Self

from ingot.host.tree import remove_tree
from ingot.images.fault import ImageFault

_LIBC = ctypes.CDLL(None, use_errno=True)
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# The directory that is filled, and what it becomes by one step.
BEGUN, WHOLE = ".ingot-unpacking", ".ingot-unpacked"
# What a new filesystem has of itself.
OWN = "lost+found"


class Staging:
    """Two directories in the volume `top`: one that is filled, and one which that becomes by one step. What is in it is
    moved out then, in as many steps as it takes: whoever is killed meanwhile, the next one goes on.

    A volume that is `own` has nothing in it but what was put there for the same purpose: one who was killed before
    anybody knew of the end does it all again, and begins by taking that away, for by now the source may have other
    files. In one that others may have put files into no directory of theirs is replaced. There the second directory
    stays behind, empty, and says that all is done: until `forget`.

    Others may have the volume too, and put links in the place of directories at any moment: each is opened once, and
    nothing is reached by its name from then on. A context manager.
    """

    def __init__(self, top: Path, *, own: bool = False) -> None:
        self._own = own
        # Which directory that is has the node said, and a link may be its way to say it.
        self._top = os.open(top, _DIRECTORY & ~os.O_NOFOLLOW)
        self._files: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._release()
        os.close(self._top)

    @property
    def files(self) -> int:
        """The directory with the files, open; there after `begin`, and where `is_complete`."""
        assert self._files is not None
        return self._files

    def is_complete(self) -> bool:
        """Whether all files were there, and only have to be moved. Raises ImageFault where that was put there by
        another, and OSError."""
        try:
            found = os.stat(WHOLE, dir_fd=self._top, follow_symlinks=False)
        except FileNotFoundError:
            return False
        if not stat.S_ISDIR(found.st_mode):
            raise _foreign("is no directory")
        self._take(WHOLE)
        opened = os.fstat(self.files)
        if opened.st_uid != os.geteuid() or opened.st_dev != os.fstat(self._top).st_dev:
            raise _foreign(f"is that of user {opened.st_uid}")
        return True

    def begin(self) -> None:
        """Nobody can go on with what another one has begun. Raises ImageFault for what is in the way, and OSError."""
        self.discard()
        if self._own:
            self._clear()
        os.mkdir(BEGUN, 0o755, dir_fd=self._top)
        self._take(BEGUN)

    def discard(self) -> None:
        self._release()
        _remove(BEGUN, self._top)

    def commit(self) -> None:
        """All files are there. Raises OSError."""
        _sync(self._top)
        os.rename(BEGUN, WHOLE, src_dir_fd=self._top, dst_dir_fd=self._top)
        os.fsync(self._top)

    def publish(self) -> None:
        """Moves them to where they belong, and syncs that. Raises ImageFault for what is in the way, and OSError."""
        names = sorted(entry.name for entry in os.scandir(self.files))
        if OWN in names and _is_directory(OWN, self._top):
            _remove(OWN, self.files)
            names.remove(OWN)
        # An archive may have anything in it, also what its files are in.
        self._check_free(names)
        for name in names:
            self._move(name)
        if self._own:
            os.rmdir(WHOLE, dir_fd=self._top)
        _sync(self._top)

    def forget(self) -> None:
        """It is known elsewhere by now that the files are there. What others put in the way of that stays."""
        with contextlib.suppress(OSError):
            os.rmdir(WHOLE, dir_fd=self._top)

    def _clear(self) -> None:
        """Takes away what was shown before. Not later: of what is in the volume once files are moved to where they
        belong, nobody who goes on with that could tell what is old."""
        for name in sorted(entry.name for entry in os.scandir(self._top)):
            if name == OWN:
                continue
            try:
                _remove(name, self._top)
            except OSError as error:
                message = f"it has a {name} already, which cannot be removed: {error.strerror}: take an empty volume"
                raise ImageFault("the volume", "Exists", message) from None

    def _move(self, name: str) -> None:
        try:
            os.rename(name, name, src_dir_fd=self.files, dst_dir_fd=self._top)
        except PermissionError:
            if not _is_directory(name, self.files):
                raise
            # Who is not root moves only a directory that may be written to.
            place = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.files)
            try:
                mode = stat.S_IMODE(os.fstat(place).st_mode)
                Path(f"/proc/self/fd/{place}").chmod(mode | stat.S_IWUSR)
                os.rename(name, name, src_dir_fd=self.files, dst_dir_fd=self._top)
                Path(f"/proc/self/fd/{place}").chmod(mode)
            finally:
                os.close(place)

    def _check_free(self, names: list[str]) -> None:
        """Raises ImageFault for a directory that is in the way, before a single name is moved. Files are replaced, as
        by every tool."""
        for name in names:
            if self._is_taken(name):
                # It is of no use any more: another archive may do.
                _remove(WHOLE, self._top)
                message = f"it has a {name} already, which the archive has too: take an empty volume"
                raise ImageFault("the volume", "Exists", message)

    def _is_taken(self, name: str) -> bool:
        there, here = _is_directory(name, self._top), _is_directory(name, self.files)
        if there and here:
            descriptor = os.open(name, _DIRECTORY, dir_fd=self._top)
            try:
                with os.scandir(descriptor) as found:
                    return any(found)
            finally:
                os.close(descriptor)
        return there is not None and bool(there or here)

    def _take(self, name: str) -> None:
        self._release()
        self._files = os.open(name, _DIRECTORY, dir_fd=self._top)

    def _release(self) -> None:
        if self._files is not None:
            os.close(self._files)
            self._files = None


def _is_directory(name: str, above: int) -> bool | None:
    """Whether a name in the open directory `above` is that of a directory; None where it is not there."""
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return None


def _foreign(why: str) -> ImageFault:
    return ImageFault("the volume", "Exists", f"its {WHOLE} {why}, and was not made here: take an empty volume")


def _remove(name: str, above: int) -> None:
    """Removes what is called `name` in the open directory `above`, with all that is in it. Raises OSError."""
    try:
        found = os.stat(name, dir_fd=above, follow_symlinks=False)
        if stat.S_ISDIR(found.st_mode):
            # An archive may have directories that not even who unpacks them may change.
            remove_tree(Path(f"/proc/self/fd/{above}") / name, unlock=True)
        else:
            os.unlink(name, dir_fd=above)
    except FileNotFoundError:
        return


def _sync(directory: int) -> None:
    """Returns when all that was written to the filesystem of `directory` is on the disk. Raises OSError."""
    if _LIBC.syncfs(directory):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
