"""Files that are there whole or not at all."""

import errno
import os
from pathlib import Path


def write_atomically(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Writes the file so that at every moment it is the old one or the new one, on disk when this returns."""
    scratch = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    try:
        descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Makes names that were added to or taken from a directory last."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def private_directory(path: Path) -> None:
    """Makes `path` a directory of this user that only it may enter, and its parents as the umask says. Raises
    PermissionError when the directory, or a link that leads to it, is another user's, who may have filled it."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for status in (path.lstat(), os.fstat(descriptor)):
            if status.st_uid != os.geteuid():
                raise PermissionError(errno.EPERM, f"it belongs to user {status.st_uid}, not {os.geteuid()}", str(path))
        os.fchmod(descriptor, 0o700)
    finally:
        os.close(descriptor)


# Others, such as QEMU's user, pass through to what they may open, and cannot look around.
PASSABLE = 0o711


def make_passable(directory: Path) -> None:
    """Makes a directory, with those above it, that others may pass through, whatever the umask says."""
    if not directory.is_dir():
        make_passable(directory.parent)
        directory.mkdir(exist_ok=True)
        directory.chmod(PASSABLE)
