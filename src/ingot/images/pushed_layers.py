"""Layers that this machine has made and pushed: what they were made of, and where they are.

A layer in a registry whose table lists the right chunks may still be somebody else's work. One that is noted here is
our own, so that it need not be made again to be taken over.
"""

import hashlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Self

import msgspec

from ingot.host.files import private_directory, write_atomically
from ingot.images.content import Content, read
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.reference import Reference

log = logging.getLogger(__name__)

# Those in `pushed` are not read: after a lost upload their layers could have tables that were wrong.
_DIRECTORY = "pushed-layers"
_MOST_NOTES = 1024
_MOST_REPOSITORIES = 16
_MOST_BYTES = 1 << 16
_PIECE = 4 << 20


class PushedLayer(msgspec.Struct, frozen=True):
    """`file`: the SHA-256 of what it was made of, in hexadecimal. `repositories`: where it was pushed to, the latest
    first."""

    file: str
    digest: str
    size: int
    diff_id: str
    annotations: dict[str, str]
    repositories: list[str]

    def places(self) -> list[Reference]:
        """Raises ImageFault."""
        return [Reference.repository_of(name) for name in self.repositories]


class PushedLayers:
    """Notes in the cache directory, which may be deleted at any time."""

    def __init__(self, cache: Path) -> None:
        """Raises OSError for a directory that cannot be used, as that of somebody else, who could have written any
        note."""
        self._directory = cache / _DIRECTORY
        private_directory(cache)
        private_directory(self._directory)

    @classmethod
    def open(cls, cache: Path) -> Self | None:
        """None where the directory cannot be used: a push only takes longer without notes."""
        try:
            return cls(cache)
        except OSError as error:
            log.warning("layers are not noted: %s: %s", error.filename, error.strerror)
            return None

    def find(self, file: Content, level: int, progress: Callable[[int, int], None]) -> PushedLayer | None:
        """The layer that was made of such a file at that level. The file is read where there is one for its size."""
        if not any(self._directory.glob(f"{file.size}-{level}-*")):
            return None
        path = self._path(file.size, level, _digest(file, progress))
        try:
            with path.open("rb") as source:
                found = msgspec.json.decode(source.read(_MOST_BYTES), type=PushedLayer)
            Digest.parse(found.digest)
            found.places()
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError, ImageFault) as error:
            log.warning("%s is not used: %s", path, error)
            return None
        return found

    def add(self, layer: PushedLayer, file_size: int, level: int) -> None:
        """Notes a layer, made of a file of that size. One that cannot be noted is none the worse."""
        noted = msgspec.structs.replace(
            layer, repositories=list(dict.fromkeys(layer.repositories))[:_MOST_REPOSITORIES]
        )
        try:
            write_atomically(self._path(file_size, level, layer.file), msgspec.json.encode(noted))
            notes = sorted(self._directory.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
            for old in notes[_MOST_NOTES:]:
                old.unlink(missing_ok=True)
        except OSError as error:
            log.warning("the layer %s is not noted: %s", layer.digest, error)

    def _path(self, size: int, level: int, digest: str) -> Path:
        return self._directory / f"{size}-{level}-{digest}"


def _digest(file: Content, progress: Callable[[int, int], None]) -> str:
    hasher = hashlib.sha256()
    for start in range(0, file.size, _PIECE):
        hasher.update(read(file, start, min(_PIECE, file.size - start)))
        progress(min(start + _PIECE, file.size), file.size)
    return hasher.hexdigest()
