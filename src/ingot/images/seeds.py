"""Seeds: disks on this machine that chunks of other images can be had from, so that an update moves what is new only.

Each disk has a small table beside the cache: the digests of its chunks, sorted, and where in the disk each is. A disk
that was changed or deleted since does no harm: every chunk is verified when it is read.
"""

import contextlib
import errno
import hashlib
import mmap
import os
import stat
import struct
import sys
import threading
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ingot.host.files import private_directory, write_atomically
from ingot.images.chunk import Chunk

_MAGIC = b"ingseed1"
_HEAD = struct.Struct("<8sHxxI")
_DIGEST = 32
_PLACE = struct.Struct("<QI")
# Tables that are kept; the oldest go. The number of one fits in a byte.
_MOST_TABLES = 256
# No chunk is larger; a table that says so is damaged.
_MOST_CHUNK = 16 << 20


@dataclass(frozen=True, slots=True)
class Place:
    """Where a chunk should be: `size` bytes from `offset` of the file `path`."""

    path: Path
    offset: int
    size: int


class _Digests:
    """The sorted digests of a table, for bisect."""

    def __init__(self, data: mmap.mmap, start: int, count: int) -> None:
        self._data, self._start, self._count = data, start, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> bytes:
        at = self._start + index * _DIGEST
        return self._data[at : at + _DIGEST]

    def firsts(self) -> bytes:
        """The first byte of each."""
        return self._data[self._start : self._start + self._count * _DIGEST : _DIGEST]

    def between(self, start: int, end: int) -> bytes:
        """The first eight bytes of each from `start` to `end`."""
        part = self._data[self._start + start * _DIGEST : self._start + end * _DIGEST]
        return memoryview(part).cast("Q")[:: _DIGEST // 8].tobytes()


class _Table:
    """The table of one disk. Raises ValueError for a file that is none, and OSError."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if len(self._data) < _HEAD.size:
            raise ValueError("it is too short")
        magic, length, count = _HEAD.unpack_from(self._data)
        start = _HEAD.size + length
        if magic != _MAGIC or len(self._data) != start + count * (_DIGEST + _PLACE.size):
            raise ValueError("it is no table of seeds")
        self.disk = Path(os.fsdecode(self._data[_HEAD.size : start]))
        self._digests = _Digests(self._data, start, count)
        self._places = start + count * _DIGEST

    def find(self, digest: bytes) -> Place | None:
        index = bisect_left(self._digests, digest)
        if index == len(self._digests) or self._digests[index] != digest:
            return None
        offset, size = _PLACE.unpack_from(self._data, self._places + index * _PLACE.size)
        return Place(self.disk, offset, size) if size <= _MOST_CHUNK else None

    @cached_property
    def _firsts(self) -> bytes:
        return self._digests.firsts()

    def words(self, first: int, number: int) -> bytearray:
        """Eight bytes for each digest that begins with the byte `first`: seven of the digest, and `number`."""
        start = bisect_left(self._firsts, first)
        end = bisect_right(self._firsts, first, start)
        words = bytearray(self._digests.between(start, end))
        words[7::8] = bytes([number]) * (end - start)
        return words

    def close(self) -> None:
        self._data.close()


class _Lookup:
    """Tells which of up to 256 tables have a digest, without asking each. It is made for a 256th of all digests at a
    time, when the first of them is asked for, and takes eight bytes for each digest. For any number of threads."""

    def __init__(self, tables: list[_Table]) -> None:
        self._tables = tables
        # By the first byte of digests: what `words` of all tables gives, as sorted numbers.
        self._parts: dict[int, array[int]] = {}

    def places(self, digest: bytes) -> Iterator[Place]:
        """Where it should be, first in the first table."""
        part = self._parts.get(digest[0])
        if part is None:
            part = self._parts[digest[0]] = self._merged(digest[0])
        least = int.from_bytes(digest[:7], "big") << 8
        for index in range(bisect_left(part, least), len(part)):
            if part[index] >> 8 != least >> 8:
                break
            if (place := self._tables[part[index] & 0xFF].find(digest)) is not None:
                yield place

    def _merged(self, first: int) -> "array[int]":
        merged = array("Q", b"".join(table.words(first, number) for number, table in enumerate(self._tables)))
        if sys.byteorder == "little":
            merged.byteswap()
        return array("Q", sorted(merged))


class Seeds:
    """The disks that are known in `directory`, usually `seeds` beside the cache. For any number of threads and
    processes. A context manager."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._changed = _changed(directory)
        self._tables = list(self._load())
        self._lookup = _Lookup(self._tables)
        self._files: dict[Path, int] = {}
        self._lock = threading.Lock()

    def _load(self) -> Iterator[_Table]:
        """The newest first. What cannot be used is passed over; what belongs to no disk any more is removed."""
        for path in _newest(self._directory)[:_MOST_TABLES]:
            with contextlib.suppress(OSError, ValueError):
                table = _Table(path)
                if table.disk.exists():
                    yield table
                else:
                    table.close()
                    path.unlink()

    @property
    def stale(self) -> bool:
        """Whether disks have become known or unknown since."""
        return _changed(self._directory) != self._changed

    def has(self, digest: bytes) -> bool:
        """Whether a disk should have this chunk."""
        return self.find(digest) is not None

    def find(self, digest: bytes) -> Place | None:
        """Where a chunk should be; whoever reads it there has to verify it."""
        return next(self._lookup.places(digest), None)

    def get(self, digest: bytes) -> bytes | None:
        """The bytes of this digest, verified, or None."""
        for place in self._lookup.places(digest):
            if (data := self._read(place)) and hashlib.sha256(data).digest() == digest:
                return data
        return None

    def _read(self, place: Place) -> bytes:
        try:
            with self._lock:
                if place.path not in self._files:
                    self._files[place.path] = open_listed(place.path)
                descriptor = self._files[place.path]
            return os.pread(descriptor, place.size, place.offset)
        except OSError:
            return b""

    def close(self) -> None:
        for table in self._tables:
            table.close()
        for descriptor in self._files.values():
            os.close(descriptor)
        self._tables.clear()
        self._files.clear()

    def __enter__(self) -> "Seeds":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_listed(disk: Path) -> int:
    """A disk that was made known, open to be read. Something else may have its name by now: it holds nobody up, and is
    refused unless it is a file or a block device. Raises OSError."""
    descriptor = os.open(disk, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISBLK(mode)):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is neither a regular file nor a block device", str(disk))
    return descriptor


def register(directory: Path, disk: Path, chunks: Iterable[tuple[int, Chunk]]) -> None:
    """Makes a disk known: where in it each chunk is, as (offset, chunk). An earlier table of the disk is replaced. The
    disk must be an absolute path. Raises OSError."""
    places = sorted({chunk.digest: _PLACE.pack(offset, chunk.size) for offset, chunk in chunks}.items())
    name = os.fsencode(disk)
    content = bytearray(_HEAD.pack(_MAGIC, len(name), len(places)) + name)
    content += b"".join(digest for digest, _ in places)
    content += b"".join(place for _, place in places)
    private_directory(directory)
    write_atomically(_path(directory, disk), bytes(content))
    for old in _newest(directory)[_MOST_TABLES:]:
        old.unlink(missing_ok=True)


def withdraw(directory: Path, disk: Path) -> None:
    """Makes a disk unknown, as before it is written to."""
    _path(directory, disk).unlink(missing_ok=True)


def _path(directory: Path, disk: Path) -> Path:
    return directory / f"{hashlib.sha256(os.fsencode(disk)).hexdigest()[:32]}.seeds"


def _changed(directory: Path) -> int:
    """When a table last came or went."""
    try:
        return directory.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _newest(directory: Path) -> list[Path]:
    found = []
    for path in directory.glob("*.seeds"):
        # It may be replaced or removed by another process at this moment.
        with contextlib.suppress(FileNotFoundError):
            found.append((path.stat().st_mtime_ns, path))
    return [path for _, path in sorted(found, reverse=True)]
