"""Chunks of images that are in disks on this machine, such as the one that was imported from an image."""

import hashlib
import os
import threading
from pathlib import Path

from ingot.images.pipeline.delta import open_seeds
from ingot.images.seeds import Place, open_listed


class LocalDisks:
    """Chunks from the disks that are known beside a cache, for all images of a process: each table that is open costs a
    descriptor. Any number of threads may ask.

    No disk is kept open: whoever deletes one gets its room back. Tables go with the last who looks something up.
    """

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._lock = threading.Lock()
        self._seeds = open_seeds(cache)

    def renew(self) -> None:
        """Takes note of disks that have become known since."""
        with self._lock:
            if self._seeds.stale:
                self._seeds = open_seeds(self._cache)

    def has(self, digest: bytes) -> bool:
        """Whether a disk should have this chunk."""
        return self._seeds.has(digest)

    def get(self, digest: bytes) -> bytes | None:
        """The bytes of this digest, verified, or None."""
        place = self._seeds.find(digest)
        if place is None:
            return None
        data = _read(place)
        return data if hashlib.sha256(data).digest() == digest else None


def _read(place: Place) -> bytes:
    """What is there; nothing where the disk is gone."""
    try:
        descriptor = open_listed(place.path)
    except OSError:
        return b""
    try:
        return os.pread(descriptor, place.size, place.offset)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
