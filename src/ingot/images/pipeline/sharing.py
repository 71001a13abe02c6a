"""Disks that share the blocks of what is the same in them, where the filesystem can do that (XFS, btrfs)."""

import contextlib
import fcntl
import os
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ingot.images.chunk import Chunk
from ingot.images.pipeline.delta import LocalChunks
from ingot.images.seeds import open_listed

# <linux/fs.h>: FIDEDUPERANGE, with one destination.
_DEDUPE = 0xC0189436
_RANGE = struct.Struct("=QQHHIqQQiI")
# What filesystems take at once.
_MOST = 16 << 20


@dataclass(frozen=True, slots=True)
class _Same:
    """`length` bytes from `start` of the file `path` on that should be those from `place` of a disk on."""

    path: Path
    start: int
    place: int
    length: int


def share(disk: int, near: LocalChunks, chunks: Iterable[tuple[int, Chunk]]) -> int:
    """Makes the open file `disk`, on which chunks are at these places, share blocks with disks that have them too;
    how many bytes. The kernel compares before it shares, so nobody's bytes change."""
    shared = 0
    with contextlib.ExitStack() as stack:
        opened: dict[Path, int | None] = {}
        for same in _joined(_found(near, chunks)):
            if same.path not in opened:
                opened[same.path] = _open_beside(same.path, disk, stack)
            source = opened[same.path]
            if source is None:
                continue
            done = _share(source, disk, same)
            if done is None:
                return shared
            shared += done
    return shared


def _found(near: LocalChunks, chunks: Iterable[tuple[int, Chunk]]) -> Iterator[_Same]:
    for place, chunk in chunks:
        found = near.find(chunk.digest)
        if found is not None and found.size == chunk.size:
            yield _Same(found.path, found.offset, place, chunk.size)


def _joined(parts: Iterable[_Same]) -> Iterator[_Same]:
    """Neighbours together, as far as they are neighbours in both files."""
    last: _Same | None = None
    for part in parts:
        if last is not None and _follows(last, part):
            last = _Same(last.path, last.start, last.place, last.length + part.length)
            continue
        if last is not None:
            yield last
        last = part
    if last is not None:
        yield last


def _follows(last: _Same, part: _Same) -> bool:
    return (part.path, part.start, part.place) == (
        last.path,
        last.start + last.length,
        last.place + last.length,
    ) and last.length + part.length <= _MOST


def _open_beside(path: Path, disk: int, stack: contextlib.ExitStack) -> int | None:
    """The file, open, if it is on the disk's filesystem."""
    try:
        descriptor = open_listed(path)
    except OSError:
        return None
    stack.callback(os.close, descriptor)
    return descriptor if os.fstat(descriptor).st_dev == os.fstat(disk).st_dev else None


def _share(source: int, disk: int, same: _Same) -> int | None:
    """How many bytes are shared now; None where it cannot be done. It only saves room, so no failure is one."""
    request = bytearray(_RANGE.pack(same.start, same.length, 1, 0, 0, disk, same.place, 0, 0, 0))
    try:
        fcntl.ioctl(source, _DEDUPE, request)
    except OSError:
        return None
    *_, count, status, _ = _RANGE.unpack(request)
    return None if status < 0 else count
