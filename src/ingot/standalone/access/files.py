"""Files that only their owner may read, written whole or not at all."""

import contextlib
import os
from pathlib import Path


def private_directory(path: Path) -> None:
    """Makes `path` a directory that only its owner may enter, and its parents as the umask says."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.chmod(0o700)


def write_private(path: Path, content: bytes) -> None:
    """Replaces `path` by `content` with mode 0600. A reader, or a crash, sees the old file or the new one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with contextlib.suppress(FileNotFoundError):
        temporary.unlink()
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise
    _sync_directory(path.parent)


def _sync_directory(path: Path) -> None:
    """A rename is durable only once its directory is."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
