"""A blob read from front to back in large pieces, and hashed on the way."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from ingot.images.blob import Blob, ByteStream
from ingot.images.digest import Digest, wrong_digest
from ingot.images.fault import ImageFault
from ingot.images.hashing import Sha256
from ingot.images.ring import Ring

PIECE = 256 << 10
_SECONDS = 0.1
# Enough to know what a stream is, by its first piece.
_LEAST = 512


@dataclass(frozen=True, slots=True)
class Fetched:
    """The bytes of a blob from `start` on, and the state of the hash of all that is before `start`."""

    data: memoryview
    start: int
    hashed: bytes

    @property
    def end(self) -> int:
        return self.start + len(self.data)

    def hashed_until(self, position: int) -> bytes:
        """The state of the hash of all that is before `position`, which is within these bytes."""
        hashing = Sha256.from_state(self.hashed)
        hashing.update(self.data[: position - self.start])
        return hashing.state()


def fetch(blob: Blob, digest: Digest | None, start: int, hashed: bytes | None, buffers: int) -> Iterator[Fetched]:
    """The blob from `start` on, where the state of its hash was `hashed`. A piece's buffer is used again `buffers`
    pieces later. At the end the digest is checked, if one is given. Raises ImageFault."""
    if digest is not None and digest.algorithm != "sha256":
        raise ImageFault(blob.subject, "Unsupported", f"it is known by a {digest.algorithm}; only sha256 is checked")
    hashing = Sha256() if hashed is None else Sha256.from_state(hashed)
    ring = Ring(buffers, PIECE)
    with blob.stream(start) as stream:
        position = start
        while count := _fill(stream, buffer := ring.next()):
            before = hashing.state()
            hashing.update(buffer[:count])
            yield Fetched(buffer[:count], position, before)
            position += count
    if digest is not None and digest.raw != hashing.digest():
        raise wrong_digest(blob.subject, digest, f"sha256:{hashing.hexdigest()}")


def _fill(stream: ByteStream, buffer: memoryview) -> int:
    """Fills the buffer as far as the stream goes, or comes in a short time, so that nobody waits for a slow server."""
    filled = 0
    until = time.monotonic() + _SECONDS
    while filled < len(buffer) and (count := stream.readinto(buffer[filled:])):
        filled += count
        if filled >= _LEAST and time.monotonic() >= until:
            break
    return filled
