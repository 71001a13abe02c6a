"""A blob whose chunks are checked while somebody else reads it from front to back."""

from ingot.images.blob import Blob, ByteStream
from ingot.images.wrapped_blob import WrappedBlob, WrappedStream
from ingot.images.zstd_chunked.pieces import Pieces
from ingot.images.zstd_chunked.remote import open_chunk


class WatchedBlob(WrappedBlob):
    """Reads as `blob` does; what goes through its streams is checked to have the chunks of `pieces` where these say.
    For one stream from the start."""

    def __init__(self, blob: Blob, pieces: Pieces) -> None:
        super().__init__(blob)
        self._frames = _Frames(blob.subject, pieces)

    @property
    def checked(self) -> int:
        """How many chunks were right."""
        return self._frames.checked

    def stream(self, start: int = 0) -> ByteStream:
        return _WatchedStream(super().stream(start), self._frames)


class _WatchedStream(WrappedStream):
    def __init__(self, stream: ByteStream, frames: "_Frames") -> None:
        super().__init__(stream)
        self._frames = frames

    def readinto(self, buffer: memoryview) -> int:
        count = super().readinto(buffer)
        self._frames.feed(buffer[:count])
        return count


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
