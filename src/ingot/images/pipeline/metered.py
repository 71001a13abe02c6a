"""Blobs and content whose bytes are counted, and come no faster than they may."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ingot.images.blob import Blob, Bytes, ByteStream
from ingot.images.content import Content, Extent
from ingot.images.fault import ImageFault
from ingot.images.wrapped_blob import WrappedBlob, WrappedStream

# What may come at once after a pause, in seconds of the rate.
_BURST = 0.1
# So much is taken at a time where there is a rate, so that it is kept evenly.
_SLICE = 1 << 18


class Meter:
    """Counts what is read, by any number of threads; with a `rate`, in bytes per second, it makes them wait."""

    def __init__(self, rate: int = 0) -> None:
        self.count = 0
        self.rate = rate
        self._lock = threading.Lock()
        self._free = 0.0

    def add(self, count: int) -> None:
        """`count` bytes have been read: returns when the next ones may be."""
        pause = 0.0
        with self._lock:
            self.count += count
            if self.rate:
                now = time.monotonic()
                self._free = max(self._free, now - _BURST) + count / self.rate
                pause = self._free - now
        if pause > 0:
            time.sleep(pause)


@contextmanager
def _reading(subject: str) -> Iterator[None]:
    """Tells failures of the source from those of the target, which are the system's too."""
    try:
        yield
    except OSError as error:
        raise ImageFault(subject, "ReadFailed", f"it cannot be read: {error.strerror}") from None


class MeteredBlob(WrappedBlob):
    """A blob with a meter."""

    def __init__(self, blob: Blob, meter: Meter) -> None:
        super().__init__(blob)
        self._meter = meter

    def readinto(self, start: int, buffer: memoryview) -> None:
        size = _SLICE if self._meter.rate else max(len(buffer), 1)
        for at in range(0, len(buffer), size):
            part = buffer[at : at + size]
            with _reading(self.subject):
                self._below.readinto(start + at, part)
            self._meter.add(len(part))

    def read(self, start: int, length: int) -> Bytes:
        buffer = bytearray(length)
        self.readinto(start, memoryview(buffer))
        return buffer

    def stream(self, start: int = 0) -> ByteStream:
        return _MeteredStream(super().stream(start), self.subject, self._meter)


class _MeteredStream(WrappedStream):
    def __init__(self, stream: ByteStream, subject: str, meter: Meter) -> None:
        super().__init__(stream)
        self._subject = subject
        self._meter = meter

    def readinto(self, buffer: memoryview) -> int:
        with _reading(self._subject):
            count = self._below.readinto(buffer[:_SLICE] if self._meter.rate else buffer)
        self._meter.add(count)
        return count


class MeteredContent:
    """Content with a meter, which is closed with it. `subject` names it in errors."""

    def __init__(self, content: Content, subject: str, meter: Meter) -> None:
        self._content = content
        self._subject = subject
        self._meter = meter

    @property
    def size(self) -> int:
        return self._content.size

    def readinto(self, start: int, buffer: memoryview) -> None:
        with _reading(self._subject):
            self._content.readinto(start, buffer)
        self._meter.add(len(buffer))

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        return self._content.extents(start, end)

    def close(self) -> None:
        self._content.close()
