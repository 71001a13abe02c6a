"""Blobs: files somewhere, read from front to back or by ranges: a layer in a registry, a file behind a URL.

HttpBlob, for URLs and registries, is in http_blob.py.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, Self

from ingot.images.content import Extent, descriptor_of
from ingot.images.fault import ImageFault

Bytes = bytes | bytearray | memoryview


class ByteStream(Protocol):
    """The bytes of a blob from some place to its end. For one thread at a time; a context manager that closes it."""

    @property
    def position(self) -> int:
        """Where in the blob the next byte is."""

    def readinto(self, buffer: memoryview) -> int:
        """Puts the next bytes at the buffer's front, as many as are at hand; 0 at the end of the blob only. Raises
        ImageFault: a blob that ends before its size is one, and so is one that goes on behind it."""

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Blob(Protocol):
    """Bytes that do not change, of a known size. Several threads may read at once."""

    @property
    def subject(self) -> str:
        """What to call it in errors; without credentials."""

    @property
    def size(self) -> int: ...

    @property
    def ranged(self) -> bool:
        """Whether it can be read at any place. Where not, only `stream` works, and gets to its start by reading."""

    def readinto(self, start: int, buffer: memoryview) -> None:
        """Fills the buffer from `start` on, in one request, which goes on where it broke. Raises ImageFault: also
        where the buffer goes beyond the end, or the blob is not ranged."""

    def read(self, start: int, length: int) -> Bytes:
        """As readinto, in memory of its own."""

    def stream(self, start: int = 0) -> ByteStream:
        """From `start` to the end; goes on by itself where a connection breaks."""


class FileBlob:
    """A file or block device of this machine. It is open until `close`."""

    def __init__(self, path: Path) -> None:
        """Raises OSError and ImageFault when it cannot be opened."""
        self.path = path
        self.descriptor = descriptor_of(path)
        self._size = os.lseek(self.descriptor, 0, os.SEEK_END)

    @property
    def subject(self) -> str:
        return str(self.path)

    @property
    def size(self) -> int:
        return self._size

    @property
    def ranged(self) -> bool:
        return True

    def readinto(self, start: int, buffer: memoryview) -> None:
        check_range(self, start, len(buffer))
        while len(buffer):
            count = os.preadv(self.descriptor, [buffer], start)
            if count == 0:
                raise truncated(self, start)
            start += count
            buffer = buffer[count:]

    def read(self, start: int, length: int) -> Bytes:
        check_range(self, start, length)
        buffer = bytearray(length)
        self.readinto(start, memoryview(buffer))
        return buffer

    def stream(self, start: int = 0) -> ByteStream:
        check_range(self, start, 0)
        return _FileStream(self, start)

    def close(self) -> None:
        os.close(self.descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _FileStream:
    """It does not close the blob."""

    def __init__(self, blob: FileBlob, start: int) -> None:
        self._blob = blob
        self._position = start

    @property
    def position(self) -> int:
        return self._position

    def readinto(self, buffer: memoryview) -> int:
        wanted = min(len(buffer), self._blob.size - self._position)
        if wanted == 0:
            return 0
        count = os.preadv(self._blob.descriptor, [buffer[:wanted]], self._position)
        if count == 0:
            raise truncated(self._blob, self._position)
        self._position += count
        return count

    def close(self) -> None:
        """Nothing is held."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class BlobContent:
    """A ranged blob as Content: all of it is data. It does not close the blob."""

    def __init__(self, blob: Blob) -> None:
        """Raises ImageFault where the blob is not ranged."""
        if not blob.ranged:
            raise no_ranges(blob)
        self.blob = blob

    @property
    def size(self) -> int:
        return self.blob.size

    def readinto(self, start: int, buffer: memoryview) -> None:
        self.blob.readinto(start, buffer)

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        if start < end:
            yield Extent(start, end - start, True, start)

    def close(self) -> None:
        """Nothing is held."""


def check_range(blob: Blob, start: int, length: int) -> None:
    """Raises ImageFault for a range that is not within the blob."""
    if start < 0 or length < 0 or start + length > blob.size:
        raise ImageFault(
            blob.subject, "OutOfRange", f"bytes {start} to {start + length} are wanted, and it has {blob.size}"
        )


def truncated(blob: Blob, position: int) -> ImageFault:
    return ImageFault(blob.subject, "Truncated", f"it ends at byte {position}; it should have {blob.size}")


def no_ranges(blob: Blob) -> ImageFault:
    why = "its server has no ranges, or neither an ETag nor a date to see that they are of one version"
    return ImageFault(blob.subject, "NoRanges", f"{why}: import it with `ingot image pull`, which reads it in one go")
