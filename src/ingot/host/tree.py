"""Removing a directory with all that is in it, and nothing that is only mounted there or linked to."""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

# Every level takes an open file: what lies deeper is moved up first.
_DEEPEST = 100


def remove_tree(path: Path, *, unlock: bool = False) -> None:
    """Removes the directory. What is gone already, or goes meanwhile, is no error. With `unlock`, directories whose
    rights keep their own owner out are removed too.

    Links are removed and not followed. Where something is mounted, at `path` or below, its content is left alone and
    OSError with EBUSY is raised: unmount it and call again.
    """
    with contextlib.suppress(FileNotFoundError), _opened(str(path.parent), None, links=True) as above:
        mount = _mount_of(above)
        with _opened(path.name, above, unlock=unlock) as top:
            _check(top, mount, path)
            while _empty(top, top, mount, path, 0, unlock=unlock):
                pass
        _remove(path.name, above, path, directory=True)


def _empty(directory: int, top: int, mount: str, path: Path, depth: int, *, unlock: bool) -> bool:
    """Removes what is in an open directory; whether something of it was moved to the open `top` instead."""
    moved = False
    for entry in os.scandir(directory):
        name, here = entry.name, path / entry.name
        if not entry.is_dir(follow_symlinks=False):
            _remove(name, directory, here, directory=False)
        elif depth == _DEEPEST:
            os.rename(name, f".{secrets.token_hex(8)}", src_dir_fd=directory, dst_dir_fd=top)
            moved = True
        else:
            with contextlib.suppress(FileNotFoundError), _opened(name, directory, unlock=unlock) as below:
                _check(below, mount, here)
                moved |= _empty(below, top, mount, here, depth + 1, unlock=unlock)
            _remove(name, directory, here, directory=True)
    return moved


@contextlib.contextmanager
def _opened(name: str, above: int | None, links: bool = False, unlock: bool = False) -> Iterator[int]:
    """A directory, opened; through links only where they are allowed."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (0 if links else os.O_NOFOLLOW)
    if unlock:
        _unlock(name, above)
    descriptor = os.open(name, flags, dir_fd=above)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _unlock(name: str, above: int | None) -> None:
    """Lets its owner into a directory, and change it; nothing happens to what is mounted, or another's."""
    place = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    try:
        locked = os.fstat(place).st_mode & stat.S_IRWXU != stat.S_IRWXU
        if locked and above is not None and _mount_of(place) == _mount_of(above):
            with contextlib.suppress(PermissionError):
                Path(f"/proc/self/fd/{place}").chmod(stat.S_IRWXU)
    finally:
        os.close(place)


def _check(descriptor: int, mount: str, path: Path) -> None:
    # A filesystem may be mounted over a part of itself, so that its device does not tell.
    if _mount_of(descriptor) != mount:
        raise OSError(errno.EBUSY, "something is mounted here: unmount it", str(path))


def _remove(name: str, above: int, path: Path, directory: bool) -> None:
    try:
        if directory:
            os.rmdir(name, dir_fd=above)
        else:
            os.unlink(name, dir_fd=above)
    except FileNotFoundError:
        return
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def _mount_of(descriptor: int) -> str:
    """The number of the mount that an open file was reached by."""
    for line in Path(f"/proc/self/fdinfo/{descriptor}").read_text().splitlines():
        if line.startswith("mnt_id:"):
            return line.removeprefix("mnt_id:").strip()
    raise OSError(errno.ENOTSUP, "the kernel does not tell the mounts of open files")
