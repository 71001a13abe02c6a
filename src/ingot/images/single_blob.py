"""Blobs that come once, from their start, to an end that nobody knows before."""

from abc import ABC, abstractmethod
from typing import Self

from ingot.images.blob import Bytes, ByteStream, no_ranges
from ingot.images.fault import ImageFault


class SingleBlob(ABC):
    """`size` is 0, as nobody knows it."""

    ranged = False
    size = 0

    def __init__(self, subject: str) -> None:
        self.subject = subject

    @abstractmethod
    def open(self) -> ByteStream:
        """All of it. Raises ImageFault."""

    def readinto(self, start: int, buffer: memoryview) -> None:
        raise no_ranges(self)

    def read(self, start: int, length: int) -> Bytes:
        raise no_ranges(self)

    def stream(self, start: int = 0) -> ByteStream:
        if start:
            raise ImageFault(self.subject, "NoRanges", "it comes once, from its start")
        return self.open()


class SingleStream(ABC):
    """A ByteStream of what `take` gives, which is its end when that gives nothing."""

    def __init__(self, start: int = 0) -> None:
        self.position = start

    @abstractmethod
    def take(self, buffer: memoryview) -> int:
        """Puts the next bytes at the buffer's front; 0 at the end."""

    @abstractmethod
    def close(self) -> None: ...

    def readinto(self, buffer: memoryview) -> int:
        count = self.take(buffer) if len(buffer) else 0
        self.position += count
        return count

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
