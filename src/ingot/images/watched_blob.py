"""A blob whose chunks are checked while somebody else reads it from front to back."""

from typing import Self

from ingot.images.blob import Blob, Bytes, ByteStream
from ingot.images.zstd_chunked.pieces import Pieces
from ingot.images.zstd_chunked.remote import open_chunk


class WatchedBlob:
    """Reads as `blob` does; what goes through its streams is checked to have the chunks of `pieces` where these say.
    For one stream from the start."""

    def __init__(self, blob: Blob, pieces: Pieces) -> None:
        self._blob = blob
        self._frames = _Frames(blob.subject, pieces)

    @property
    def subject(self) -> str:
        return self._blob.subject

    @property
    def size(self) -> int:
        return self._blob.size

    @property
    def ranged(self) -> bool:
        return self._blob.ranged

    @property
    def checked(self) -> int:
        """How many chunks were right."""
        return self._frames.checked

    def readinto(self, start: int, buffer: memoryview) -> None:
        self._blob.readinto(start, buffer)

    def read(self, start: int, length: int) -> Bytes:
        return self._blob.read(start, length)

    def stream(self, start: int = 0) -> ByteStream:
        return _WatchedStream(self._blob.stream(start), self._frames)


class _WatchedStream:
    def __init__(self, stream: ByteStream, frames: "_Frames") -> None:
        self._stream = stream
        self._frames = frames

    @property
    def position(self) -> int:
        return self._stream.position

    def readinto(self, buffer: memoryview) -> int:
        count = self._stream.readinto(buffer)
        self._frames.feed(buffer[:count])
        return count

    def close(self) -> None:
        self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Frames:
    """Takes the bytes of the blob in order and opens each chunk as soon as it is there."""

    def __init__(self, subject: str, pieces: Pieces) -> None:
        self._subject = subject
        self._chunks = pieces.chunks()
        self._next = next(self._chunks, None)
        self._kept = bytearray()
        self._start = 0
        self.checked = 0

    def feed(self, data: memoryview) -> None:
        """Raises ImageFault for a chunk that is not what it should be."""
        self._kept += data
        end = self._start + len(self._kept)
        while self._next is not None and self._next.end <= end:
            chunk = self._next
            open_chunk(self._subject, chunk, self._kept[chunk.start - self._start : chunk.end - self._start])
            self.checked += 1
            self._next = next(self._chunks, None)
        keep = end if self._next is None else min(self._next.start, end)
        del self._kept[: keep - self._start]
        self._start = keep
