"""The node's cache of chunks: files named by the digest of their bytes, bounded, checked, safe to delete any time."""

import contextlib
import hashlib
import logging
import os
import secrets
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from ingot.host.files import private_directory
from ingot.images.cache_limit import LIMIT, note_limit, noted_limit
from ingot.images.fault import ImageFault
from ingot.images.index_store import IndexStore

log = logging.getLogger(__name__)

# Chunks are in so many directories, by the first byte of their digests, whatever the limit of who put them there.
SHARDS = 256
# A smaller cache has fewer shards, each in several directories: one must have room for some chunks.
_LEAST_SHARD = 4 << 20
# Indexes of layers may take this part of the limit; chunks have what they leave.
_INDEXES = 2
# A shard is counted again when this part of its limit was added to it: by then others may have added as much.
_SLACK = 16
# An eviction leaves some room, so that not every chunk that comes makes one.
_KEEP = 0.9
# How old the time of a file may be before a read renews it. Renewing it with each read would cost a write each.
_STALE_SECONDS = 300.0
# A file that is being written is younger than this.
_SCRATCH_SECONDS = 3600.0
_SCRATCH = ".part-"
# No chunk is larger: a file that claims to be is damaged, and not worth its memory.
_LARGEST = 64 << 20


def default_directory() -> Path:
    """Where the cache is when nobody says: $INGOT_CACHE, else `ingot` in the user's cache directory."""
    if named := os.environ.get("INGOT_CACHE"):
        return Path(named)
    above = os.environ.get("XDG_CACHE_HOME")
    return (Path(above) if above else Path.home() / ".cache") / "ingot"


@dataclass(slots=True)
class CacheCounters:
    """What happened since this process opened the cache."""

    hits: int = 0
    misses: int = 0
    damaged: int = 0
    evicted: int = 0
    refused: int = 0


@dataclass(slots=True)
class _Shard:
    """`counted`: bytes in its files when they were last counted. `added`: bytes that we have put there since."""

    counted: int = -1
    added: int = 0


class Cache:
    """Chunks by their SHA-256, in a directory that several processes may share.

    What is read was verified; a damaged file is removed and counts as absent. `indexes` are those of layers, and count
    in `limit` too. Each of `shards`, at most 256, holds its part of the rest, and lets go of what was used least
    recently. A disk that takes no more only means that less is cached.
    """

    def __init__(self, directory: Path, limit: int | None = None) -> None:
        """Without a `limit` the one that was given for this directory last holds, and LIMIT where none was. Raises
        ImageFault when the directory cannot be made."""
        self.directory = directory
        self._told = noted_limit(directory) if limit is None else limit
        self.limit = LIMIT if self._told is None else self._told
        self.indexes = IndexStore(directory / "indexes", self.limit // _INDEXES)
        self.counters = CacheCounters()
        self.shards = _shards(self.limit)
        self._counts = [_Shard() for _ in range(self.shards)]
        self._lock = threading.Lock()
        self._complained = self._found_damaged = False
        try:
            private_directory(directory)
        except OSError as error:
            message = f"the chunk cache cannot be made: {error.strerror}; name another directory with --cache"
            raise ImageFault(str(directory), "NoCache", message) from error
        if limit is not None:
            note_limit(directory, limit)
        self._most = self._room()

    def has(self, digest: bytes) -> bool:
        """Whether there is a file for it, which may still turn out to be damaged."""
        return self._path(digest).exists()

    def get(self, digest: bytes) -> bytes | None:
        """The bytes of this digest, or None."""
        path = self._path(digest)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self.counters.misses += 1
            return None
        try:
            data = self._content(descriptor)
        except OSError:
            data = b""
        finally:
            os.close(descriptor)
        if hashlib.sha256(data).digest() != digest:
            self._remove_damaged(path)
            return None
        self.counters.hits += 1
        return data

    def put(self, digest: bytes, data: bytes | memoryview) -> bool:
        """Keeps bytes that the caller has verified; whether they are kept. They need not outlive a power cut."""
        if len(data) > min(self._most, _LARGEST):
            self._refuse(f"has no room for a chunk of {len(data)} bytes; give it more with --cache-size")
            return False
        path = self._path(digest)
        try:
            self._write(path, data)
        except OSError as error:
            self._refuse(f"takes no more ({error.strerror}); chunks are used uncached")
            return False
        self._account(digest[0] % self.shards, len(data))
        return True

    def usage(self) -> tuple[int, int]:
        """How many bytes are in how many chunks now, whichever process put them there."""
        found = [_files(self._directory(number)) for number in range(SHARDS)]
        return sum(size for files in found for _, size, _ in files), sum(len(files) for files in found)

    def _path(self, digest: bytes) -> Path:
        return self._directory(digest[0]) / digest.hex()

    def _directory(self, number: int) -> Path:
        return self.directory / "chunks" / f"{number:02x}"

    @staticmethod
    def _content(descriptor: int) -> bytes:
        status = os.fstat(descriptor)
        if time.time() - status.st_mtime > _STALE_SECONDS:
            # On a read-only directory recency is lost, and nothing else.
            with contextlib.suppress(OSError):
                os.utime(descriptor)
        size = min(status.st_size, _LARGEST)
        data = os.read(descriptor, size)
        while len(data) < size and (more := os.read(descriptor, size - len(data))):
            data += more
        return data

    def _remove_damaged(self, path: Path) -> None:
        self.counters.damaged += 1
        self.counters.misses += 1
        if not self._found_damaged:
            # A cache that is damaged at all may be so in thousands of places; `counters` has how many.
            self._found_damaged = True
            message = (
                "chunk cache: %s cannot be read or has not the bytes of its name; it is removed, and so are others"
            )
            log.warning(message, path)
        with contextlib.suppress(OSError):
            path.unlink()

    def _write(self, path: Path, data: bytes | memoryview) -> None:
        scratch = path.with_name(f"{_SCRATCH}{secrets.token_hex(8)}")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            descriptor = os.open(scratch, flags, 0o600)
        except FileNotFoundError:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._told is not None and noted_limit(self.directory) is None:
                # With the rest of the cache the note was deleted.
                note_limit(self.directory, self._told)
            descriptor = os.open(scratch, flags, 0o600)
        try:
            try:
                rest = memoryview(data)
                while len(rest):
                    rest = rest[os.write(descriptor, rest) :]
            finally:
                os.close(descriptor)
            scratch.rename(path)
        except OSError:
            with contextlib.suppress(OSError):
                scratch.unlink()
            raise

    def _refuse(self, why: str) -> None:
        self.counters.refused += 1
        if not self._complained:
            self._complained = True
            log.warning("chunk cache: %s %s", self.directory, why)

    def _room(self) -> int:
        """How many bytes each shard may have."""
        return max(self.limit - self.indexes.size(), 0) // self.shards

    def _account(self, number: int, size: int) -> None:
        shard, most = self._counts[number], self._most
        with self._lock:
            shard.added += size
            due = shard.counted < 0 or shard.added > most // _SLACK or shard.counted + shard.added > most
            if due:
                # Nobody else of this process counts it now; what is added meanwhile counts for the next time.
                shard.added = 0
                shard.counted = 0
        if due:
            self._most = self._room()
            left = self._evict(number, self._most)
            with self._lock:
                shard.counted = left

    def _evict(self, number: int, most: int) -> int:
        """Removes what was used least recently when the shard is over `most` bytes; how many bytes are left."""
        places = range(number, SHARDS, self.shards)
        files = [file for place in places for file in _files(self._directory(place))]
        total = sum(size for _, size, _ in files)
        if total <= most:
            return total
        # The youngest always stays: with large chunks and a small shard there may be room for just one.
        for _, size, name in sorted(files)[:-1]:
            if total <= most * _KEEP:
                break
            with contextlib.suppress(OSError):
                Path(name).unlink()
                self.counters.evicted += 1
            total -= size
        return total


def _shards(limit: int) -> int:
    """How many there are in a cache of so many bytes, when indexes take all that they may."""
    count = SHARDS
    while count > 1 and (limit - limit // _INDEXES) // count < _LEAST_SHARD:
        count //= 2
    return count


def _files(directory: Path) -> list[tuple[float, int, str]]:
    """Time of use, size and path of each chunk of a shard. Scratch files that nobody writes any more are removed."""
    found = []
    # The directory may vanish at any moment, and so may each file.
    with contextlib.suppress(FileNotFoundError), os.scandir(directory) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                status = entry.stat(follow_symlinks=False)
                if not entry.name.startswith(_SCRATCH):
                    found.append((status.st_mtime, status.st_size, entry.path))
                elif time.time() - status.st_mtime > _SCRATCH_SECONDS:
                    Path(entry.path).unlink()
    return found
