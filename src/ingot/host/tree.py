"""Removing a directory with all that is in it, and nothing that is only mounted there or linked to."""

import errno
import os
from pathlib import Path

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_tree(path: Path) -> None:
    """Removes the directory. What is gone already, or goes meanwhile, is no error.

    Links are removed and not followed. Where something is mounted, at `path` or below, its content is left alone and
    OSError with EBUSY is raised: unmount it and call again.
    """
    try:
        above = os.open(path.parent, _DIRECTORY & ~os.O_NOFOLLOW)
    except FileNotFoundError:
        return
    try:
        _remove_directory(path.name, above, _mount_of(above), path)
    finally:
        os.close(above)


def _remove_directory(name: str, above: int, mount: str, path: Path) -> None:
    try:
        descriptor = os.open(name, _DIRECTORY, dir_fd=above)
    except FileNotFoundError:
        return
    try:
        # A filesystem may be mounted over a part of itself, so that its device does not tell.
        if _mount_of(descriptor) != mount:
            raise OSError(errno.EBUSY, "something is mounted here: unmount it", str(path))
        for entry in os.scandir(descriptor):
            if entry.is_dir(follow_symlinks=False):
                _remove_directory(entry.name, descriptor, mount, path / entry.name)
            else:
                _remove(entry.name, descriptor, path / entry.name, directory=False)
    finally:
        os.close(descriptor)
    _remove(name, above, path, directory=True)


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
