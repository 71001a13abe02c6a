"""What comes through a pipe, as a blob that can be read once."""

import os

from ingot.images.blob import ByteStream
from ingot.images.single_blob import SingleBlob, SingleStream


class PipeBlob(SingleBlob):
    """The bytes of an open descriptor up to its end."""

    def __init__(self, descriptor: int, subject: str) -> None:
        super().__init__(subject)
        self._descriptor = descriptor

    def open(self) -> ByteStream:
        return _PipeStream(self._descriptor)


class _PipeStream(SingleStream):
    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor

    def take(self, buffer: memoryview) -> int:
        return os.readv(self._descriptor, [buffer])

    def close(self) -> None:
        """It is not ours."""
