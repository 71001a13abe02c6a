"""Digests of whole blobs that a stream cannot check on its way."""

import hashlib

from ingot.images.blob import Blob, ByteStream
from ingot.images.digest import Digest, wrong_digest
from ingot.images.wrapped_blob import WrappedBlob, WrappedStream

_PIECE = 1 << 20


def check_blob(blob: Blob, digest: Digest) -> None:
    """Reads all of it. Raises ImageFault when it has another digest."""
    buffer = memoryview(bytearray(_PIECE))
    with CheckedBlob(blob, digest).stream() as stream:
        while stream.readinto(buffer):
            pass


class CheckedBlob(WrappedBlob):
    """A blob whose stream raises ImageFault at its end unless all of it has the digest."""

    def __init__(self, blob: Blob, digest: Digest) -> None:
        super().__init__(blob)
        self._digest = digest

    def stream(self, start: int = 0) -> ByteStream:
        if start:
            raise ValueError("a digest is of all bytes")
        return _CheckedStream(super().stream(), self.subject, self._digest)


class _CheckedStream(WrappedStream):
    def __init__(self, stream: ByteStream, subject: str, digest: Digest) -> None:
        super().__init__(stream)
        self._subject = subject
        self._digest = digest
        self._hash = hashlib.new(digest.algorithm, usedforsecurity=False)

    def readinto(self, buffer: memoryview) -> int:
        count = super().readinto(buffer)
        self._hash.update(buffer[:count])
        if count == 0 and len(buffer) and self._hash.hexdigest() != self._digest.hex:
            found = f"{self._digest.algorithm}:{self._hash.hexdigest()}"
            raise wrong_digest(self._subject, self._digest, found)
        return count
