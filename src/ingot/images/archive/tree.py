"""A directory that files of a stranger's archive are put into: none ever gets out of it.

Every name is walked from the top, one directory at a time, and no link is followed on the way. A symbolic link may only
lead up as far as the top, and down from there: so it stays inside, whatever the links on its way are.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from typing import Self

from ingot.images.tar_header import BadTar

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# Nobody gets the rights of another by running a file.
_MODE = 0o777
# What who is not root needs to read again what it has unpacked, as to copy it.
_READ, _WALK = 0o400, 0o500
# Directories that an archive does not mention; and all others, until all is in them.
_USUAL = 0o755
# It is a file, or a link.
_NO_DIRECTORY = (errno.ENOTDIR, errno.ELOOP)
# Names of directories that are kept until the end, in bytes.
_MOST_NAMES = 128 << 20
_HOLE = 1 << 16
_ZEROS = bytes(_HOLE)


class Tree:
    """The directory that is open as `top`, and empty; it stays open. Raises BadTar for what an archive may not have,
    and OSError. A context manager."""

    def __init__(self, top: int) -> None:
        self._top = os.dup(top)
        # Rights and times of directories, which come last: what is put into them changes the times.
        self._directories: dict[bytes, tuple[int, int]] = {}
        self._names = 0
        # Directories, also those that no entry mentions, and links.
        self.made = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._top)

    def directory(self, parts: Sequence[bytes], mode: int, time: int) -> None:
        os.close(self._enter(parts))
        name = b"/".join(parts)
        if name not in self._directories:
            self._names += len(name)
        if self._names > _MOST_NAMES:
            raise BadTar(f"has directories whose names have more than {_MOST_NAMES} bytes")
        self._directories[name] = (mode, time)

    def file(self, parts: Sequence[bytes], mode: int, time: int) -> "TreeFile":
        """A new file, to be written from front to back."""
        with self._parent(parts) as parent:
            self._replace(parent, parts)
            descriptor = os.open(parts[-1], _NEW, 0o600, dir_fd=parent)
        return TreeFile(descriptor, _rights(mode, _READ), time)

    def symlink(self, parts: Sequence[bytes], target: bytes) -> None:
        _check_inside(parts, target)
        with self._parent(parts) as parent:
            self._replace(parent, parts)
            os.symlink(target, parts[-1], dir_fd=parent)
        self.made += 1

    def link(self, parts: Sequence[bytes], target: Sequence[bytes]) -> None:
        """A second name of a file that is there."""
        with self._parent(target) as origin, self._parent(parts) as parent:
            try:
                found = os.stat(target[-1], dir_fd=origin, follow_symlinks=False)
            except FileNotFoundError:
                found = None
            if found is None or not stat.S_ISREG(found.st_mode):
                raise BadTar(f"has a link {_shown(parts)} to {_shown(target)}, which is no file in it")
            self._replace(parent, parts)
            os.link(target[-1], parts[-1], src_dir_fd=origin, dst_dir_fd=parent, follow_symlinks=False)
        self.made += 1

    def finish(self) -> None:
        """Gives directories the rights and times that they should have, the innermost first."""
        for name in sorted(self._directories, key=lambda each: each.count(b"/"), reverse=True):
            mode, time = self._directories[name]
            descriptor = self._enter(name.split(b"/"))
            os.utime(descriptor, ns=(time * 10**9, time * 10**9))
            os.fchmod(descriptor, _rights(mode, _WALK))
            os.close(descriptor)

    def _replace(self, parent: int, parts: Sequence[bytes]) -> None:
        """Takes away a file of that name: the last of several in an archive is the one that counts."""
        with contextlib.suppress(FileNotFoundError):
            found = os.stat(parts[-1], dir_fd=parent, follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode):
                raise BadTar(f"has {_shown(parts)} both as a directory and as something else")
            os.unlink(parts[-1], dir_fd=parent)

    @contextlib.contextmanager
    def _parent(self, parts: Sequence[bytes]) -> Iterator[int]:
        descriptor = self._enter(parts[:-1])
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _enter(self, parts: Sequence[bytes]) -> int:
        """A directory, open; made, where it is not there."""
        at = os.dup(self._top)
        for depth, part in enumerate(parts, 1):
            try:
                below = self._below(at, part)
            except OSError as error:
                if error.errno not in _NO_DIRECTORY:
                    raise
                raise BadTar(f"has files below {_shown(parts[:depth])}, which is no directory") from None
            finally:
                os.close(at)
            at = below
        return at

    def _below(self, directory: int, name: bytes) -> int:
        """A directory in another one, made where it is not there, whatever the umask says. Raises OSError."""
        try:
            os.mkdir(name, dir_fd=directory)
        except FileExistsError:
            return os.open(name, _DIRECTORY, dir_fd=directory)
        self.made += 1
        descriptor = os.open(name, _DIRECTORY, dir_fd=directory)
        os.fchmod(descriptor, _USUAL)
        return descriptor


class TreeFile:
    """A file of an archive, open until `close`."""

    def __init__(self, descriptor: int, mode: int, time: int) -> None:
        self._descriptor = descriptor
        self._mode = mode
        self._time = time
        self._position = 0

    def write(self, data: memoryview) -> None:
        """The next bytes; pieces that are all zeros become holes. Raises OSError."""
        while len(data):
            piece = data[: _HOLE - self._position % _HOLE]
            if piece != _ZEROS[: len(piece)]:
                self._put(piece)
            self._position += len(piece)
            data = data[len(piece) :]

    def _put(self, piece: memoryview) -> None:
        written = 0
        while written < len(piece):
            written += os.pwrite(self._descriptor, piece[written:], self._position + written)

    def finish(self) -> None:
        """All bytes have come. Raises OSError."""
        os.ftruncate(self._descriptor, self._position)
        os.fchmod(self._descriptor, self._mode)
        os.utime(self._descriptor, ns=(self._time * 10**9, self._time * 10**9))

    def close(self) -> None:
        os.close(self._descriptor)


def _rights(mode: int, needed: int) -> int:
    return mode & _MODE | (needed if os.geteuid() else 0)


def _check_inside(parts: Sequence[bytes], target: bytes) -> None:
    """Raises BadTar for a link that could lead out: one from the root, too far up, or up behind another name, which
    may be a link itself."""
    steps = [part for part in target.split(b"/") if part not in (b"", b".")]
    up = next((place for place, part in enumerate(steps) if part != b".."), len(steps))
    if target.startswith(b"/") or not target or b".." in steps[up:] or up > len(parts) - 1:
        raise BadTar(f"has a link {_shown(parts)} to {_shown([target])}, which may lead out")


def _shown(parts: Sequence[bytes]) -> str:
    return b"/".join(parts)[:200].decode(errors="backslashreplace")
