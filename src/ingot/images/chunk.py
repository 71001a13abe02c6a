"""Chunks: pieces of a file in an image, known by the digest of their bytes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

# Chunks of the images that Ingot pushes: one cluster of their qcow2.
CHUNK_SIZE = 1 << 16


@dataclass(frozen=True, slots=True)
class Chunk:
    """`size` bytes whose SHA-256 is `digest`, as one compressed frame from `start` to `end` of a blob."""

    digest: bytes
    size: int
    start: int
    end: int


class Chunks(Protocol):
    """Somewhere that chunks can be had from. Several threads may ask at once."""

    def fetch(self, chunks: Sequence[Chunk]) -> Iterable[bytes | memoryview]:
        """The bytes of these chunks in their order, each of the right digest. Neighbours in the blob come in one
        request. Raises ImageFault."""
