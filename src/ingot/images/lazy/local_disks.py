"""Chunks of an image that are in disks on this machine, such as the one that was imported from it."""

import hashlib
import os

from ingot.images.seeds import Place, Seeds, open_listed


class LocalDisks:
    """Chunks from `seeds`, which are closed with it. Any number of threads may ask.

    No disk is kept open: whoever deletes one gets its room back.
    """

    def __init__(self, seeds: Seeds) -> None:
        self._seeds = seeds

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

    def close(self) -> None:
        """Nobody may ask any more."""
        self._seeds.close()


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
