"""The chunks of a file by number, in the order of the blob that holds them."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable

from ingot.images.chunk import Chunk
from ingot.images.fault import ImageFault

_DIGEST = 32
# Bytes that a chunk inflates to which are as dear as one that is moved.
_INFLATION = 256


class ChunkTable:
    """Chunks that follow each other in a blob. It keeps 52 bytes for each: large disks have a million."""

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        """Raises ImageFault when they are not in the order of the blob."""
        self._digests = bytearray()
        self._sizes = array("I")
        self._starts = array("Q")
        self._ends = array("Q")
        reach = 0
        for chunk in chunks:
            if chunk.start < reach or chunk.end <= chunk.start:
                message = (
                    f"a chunk goes from byte {chunk.start} to {chunk.end} of the blob, and the one before to {reach}"
                )
                raise ImageFault("layer", "BadTable", message)
            reach = chunk.end
            self._digests += chunk.digest
            self._sizes.append(chunk.size)
            self._starts.append(chunk.start)
            self._ends.append(chunk.end)

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, number: int) -> Chunk:
        return Chunk(self.digest(number), self._sizes[number], self._starts[number], self._ends[number])

    def digest(self, number: int) -> bytes:
        return bytes(self._digests[number * _DIGEST : (number + 1) * _DIGEST])

    def weight(self, number: int) -> int:
        """How many bytes it takes to move this chunk."""
        return self._ends[number] - self._starts[number]

    def size(self, number: int) -> int:
        """How many bytes it has."""
        return self._sizes[number]

    def cost(self, number: int) -> int:
        """What it costs to fetch this chunk, in bytes that are moved: also where next to nothing is, it takes memory
        and time."""
        return max(self.weight(number), self._sizes[number] // _INFLATION)

    def number(self, chunk: Chunk) -> int:
        """Which one this is. Raises ImageFault when it is none of them."""
        found = bisect_left(self._starts, chunk.start)
        if found == len(self._starts) or self._starts[found] != chunk.start:
            raise ImageFault("layer", "BadTable", f"there is no chunk at byte {chunk.start} of the blob")
        return found
