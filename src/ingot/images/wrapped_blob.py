"""Blobs and streams that others stand before: they do all as what is below, and wrappers change what they have to."""

from typing import Self

from ingot.images.blob import Blob, Bytes, ByteStream


class WrappedBlob:
    """A blob that is `below`."""

    def __init__(self, below: Blob) -> None:
        self._below = below

    @property
    def subject(self) -> str:
        return self._below.subject

    @property
    def size(self) -> int:
        return self._below.size

    @property
    def ranged(self) -> bool:
        return self._below.ranged

    def readinto(self, start: int, buffer: memoryview) -> None:
        self._below.readinto(start, buffer)

    def read(self, start: int, length: int) -> Bytes:
        return self._below.read(start, length)

    def stream(self, start: int = 0) -> ByteStream:
        return self._below.stream(start)


class WrappedStream:
    """A stream that is `below`, and is closed with it."""

    def __init__(self, below: ByteStream) -> None:
        self._below = below

    @property
    def position(self) -> int:
        return self._below.position

    def readinto(self, buffer: memoryview) -> int:
        return self._below.readinto(buffer)

    def close(self) -> None:
        self._below.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
