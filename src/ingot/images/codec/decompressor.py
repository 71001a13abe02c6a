"""What all decompressors have in common."""

from collections.abc import Iterator
from typing import Protocol

# The most that is given at once: large enough that calls cost nothing, small enough for a CPU's cache.
PIECE = 512 << 10
# How many pieces may be held at once before their buffers are used again: by a queue, and by its two ends.
PIECES = 6


class Decompressor(Protocol):
    """Turns a compressed stream, given piece by piece, into bytes. Memory is bounded whatever the input. For one
    thread at a time."""

    @property
    def position(self) -> int:
        """How many bytes of the compressed stream have been used."""

    def decompress(self, data: memoryview) -> Iterator[bytes | memoryview]:
        """What comes of the next bytes, in pieces of at most PIECE bytes. `data` is used up when this ends, and
        must not change until then. The buffer of a piece is used again PIECES pieces later.

        Raises ImageFault: BadData for what is not right, TooLarge for what would take too much memory.
        """

    def checkpoint(self) -> bytes | None:
        """All that is needed to go on from `position`, also in another process; None where that is impossible.

        Between two pieces of `decompress` it is good as well: it covers the pieces that were given.
        """

    def resume(self, checkpoint: bytes) -> None:
        """Goes on where the checkpoint was taken; called before anything else. Raises ImageFault Damaged."""

    def finish(self) -> None:
        """Call it at the end of the stream. Raises ImageFault Truncated when more should have come."""
