"""Digests of whole blobs that a stream cannot check on its way."""

import hashlib
from typing import Self

from ingot.images.blob import Blob, Bytes, ByteStream
from ingot.images.digest import Digest, wrong_digest

_PIECE = 1 << 20


def check_blob(blob: Blob, digest: Digest) -> None:
    """Reads all of it. Raises ImageFault when it has another digest."""
    buffer = memoryview(bytearray(_PIECE))
    with CheckedBlob(blob, digest).stream() as stream:
        while stream.readinto(buffer):
            pass


class CheckedBlob:
    """A blob whose stream raises ImageFault at its end unless all of it has the digest."""

    def __init__(self, blob: Blob, digest: Digest) -> None:
        self._blob = blob
        self._digest = digest

    @property
    def subject(self) -> str:
        return self._blob.subject

    @property
    def size(self) -> int:
        return self._blob.size

    @property
    def ranged(self) -> bool:
        return self._blob.ranged

    def readinto(self, start: int, buffer: memoryview) -> None:
        self._blob.readinto(start, buffer)

    def read(self, start: int, length: int) -> Bytes:
        return self._blob.read(start, length)

    def stream(self, start: int = 0) -> ByteStream:
        if start:
            raise ValueError("a digest is of all bytes")
        return _CheckedStream(self._blob.stream(), self.subject, self._digest)


class _CheckedStream:
    def __init__(self, stream: ByteStream, subject: str, digest: Digest) -> None:
        self._stream = stream
        self._subject = subject
        self._digest = digest
        self._hash = hashlib.new(digest.algorithm)

    @property
    def position(self) -> int:
        return self._stream.position

    def readinto(self, buffer: memoryview) -> int:
        count = self._stream.readinto(buffer)
        self._hash.update(buffer[:count])
        if count == 0 and len(buffer) and self._hash.hexdigest() != self._digest.hex:
            found = f"{self._digest.algorithm}:{self._hash.hexdigest()}"
            raise wrong_digest(self._subject, self._digest, found)
        return count

    def close(self) -> None:
        self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
