"""Where the indexes of layers are: beside the cache's chunks, within a bound, with nothing left by killed processes.

An index has the name of its layer's digest, in hex. While it is made there are a lock, `DIGEST.lock`, and the part that
is done, `.DIGEST.part`. Who holds the lock of a digest may remove whatever else belongs to it.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from ingot.host.files import private_directory
from ingot.images.digest import Digest

_LOCK = ".lock"


class IndexStore:
    """The indexes in `directory`, which has at most `limit` bytes of them. For any number of threads and processes."""

    def __init__(self, directory: Path, limit: int) -> None:
        self.limit = limit
        self._directory = directory

    @contextlib.contextmanager
    def alone(self, digest: Digest) -> Iterator[Path]:
        """Where the index of the layer with this digest is, or is to be made. One at a time; the others wait, and find
        what was made. It counts as used now. Raises OSError."""
        private_directory(self._directory)
        path = self._directory / digest.hex
        with _held(path.with_suffix(_LOCK), fcntl.LOCK_EX):
            with contextlib.suppress(OSError):
                os.utime(path)
            yield path

    def has(self, digest: Digest) -> bool:
        """Whether there is an index of the layer with this digest."""
        return (self._directory / digest.hex).is_file()

    def size(self) -> int:
        """How many bytes there are, also of unfinished ones."""
        return sum(status.st_size for status, _ in self._files())

    def tidy(self) -> None:
        """Removes what killed processes left, and the indexes used least recently when there are too many bytes. Those
        who have one open go on with it."""
        for name in {path.name.strip(".").partition(".")[0] for _, path in self._files() if "." in path.name}:
            # One that is held is in use.
            with (
                contextlib.suppress(OSError),
                _held(self._directory / f"{name}{_LOCK}", fcntl.LOCK_EX | fcntl.LOCK_NB),
            ):
                for left in self._directory.glob(f".{name}.*"):
                    left.unlink(missing_ok=True)
        self._evict()

    def _evict(self) -> None:
        files = sorted((status.st_mtime_ns, status.st_size, path) for status, path in self._files())
        total = sum(size for _, size, _ in files)
        for _, size, path in files:
            if total <= self.limit:
                break
            if "." not in path.name:
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)
                total -= size

    def _files(self) -> list[tuple[os.stat_result, Path]]:
        found = []
        # The directory may vanish at any moment, and so may each file.
        with contextlib.suppress(OSError), os.scandir(self._directory) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    found.append((entry.stat(follow_symlinks=False), Path(entry.path)))
        return found


@contextlib.contextmanager
def _held(path: Path, operation: int) -> Iterator[None]:
    """Holds the lock, whose file is there only as long. Raises OSError, BlockingIOError when another holds it."""
    descriptor = _locked(path, operation)
    try:
        yield
    finally:
        # Those who wait for this file see that it is no longer the lock, and take the new one.
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _locked(path: Path, operation: int) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, operation)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), path.stat()):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
