"""What comes through a pipe, as a blob that can be read once."""

import os
from typing import Self

from ingot.images.blob import Bytes, ByteStream, no_ranges
from ingot.images.fault import ImageFault


class PipeBlob:
    """The bytes of an open descriptor up to its end. Nobody knows how many they are: `size` is 0."""

    ranged = False
    size = 0

    def __init__(self, descriptor: int, subject: str) -> None:
        self.subject = subject
        self._descriptor = descriptor

    def readinto(self, start: int, buffer: memoryview) -> None:
        raise no_ranges(self)

    def read(self, start: int, length: int) -> Bytes:
        raise no_ranges(self)

    def stream(self, start: int = 0) -> ByteStream:
        if start:
            raise ImageFault(self.subject, "NoRanges", "it comes once, from its start")
        return _PipeStream(self._descriptor)


class _PipeStream:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.position = 0

    def readinto(self, buffer: memoryview) -> int:
        count = os.readv(self._descriptor, [buffer])
        self.position += count
        return count

    def close(self) -> None:
        """It is not ours."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
