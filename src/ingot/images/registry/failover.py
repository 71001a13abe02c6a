"""A blob that is in several places: where one fails, the next is asked."""

import threading
from collections.abc import Callable, Sequence
from typing import Self, TypeVar

from ingot.images.blob import Blob, Bytes, ByteStream
from ingot.images.fault import ImageFault

_T = TypeVar("_T")
# Told of a blob that was read to its end, and has its digest.
_VERIFIED = frozenset(("NoDisk",))


class FailoverBlob:
    """The same blob at mirrors and at its registry, in the order in which they are asked. One that has failed is not
    asked again; the fault of the last one is told."""

    def __init__(self, blobs: Sequence[Blob], left: Sequence[Callable[[ImageFault], None]] = ()) -> None:
        """`left`: for each place, who is told when it is left, and why."""
        self._blobs = list(blobs)
        self._left = list(left)
        # Whether a stream has had bytes of a place that was left before its end.
        self._mixed = False
        self._lock = threading.Lock()

    @property
    def subject(self) -> str:
        return self._blobs[-1].subject

    @property
    def size(self) -> int:
        return self._blobs[-1].size

    @property
    def ranged(self) -> bool:
        while True:
            blob = self.current()
            try:
                return blob.ranged
            except ImageFault as fault:
                self.leave(blob, fault)

    def readinto(self, start: int, buffer: memoryview) -> None:
        while True:
            blob = self.current()
            try:
                return blob.readinto(start, buffer)
            except ImageFault as fault:
                self.leave(blob, fault)

    def read(self, start: int, length: int) -> Bytes:
        while True:
            blob = self.current()
            try:
                return blob.read(start, length)
            except ImageFault as fault:
                self.leave(blob, fault)

    def stream(self, start: int = 0) -> ByteStream:
        return _FailoverStream(self, start)

    def current(self) -> Blob:
        with self._lock:
            return self._blobs[0]

    def leave(self, blob: Blob, fault: ImageFault) -> None:
        """Goes on to the next place. Raises the fault where there is none."""
        with self._lock:
            if self._blobs[0] is blob:
                if len(self._blobs) == 1:
                    raise fault
                self._next(fault)

    def doubt(self, fault: ImageFault) -> bool:
        """What a stream has given led to that fault: whether the same stream may give something else now, because a
        place whose bytes were among them is left."""
        with self._lock:
            mixed, self._mixed = self._mixed, False
            if len(self._blobs) == 1:
                return mixed
            # A mirror with wrong bytes may have more of them: it is left alone for a while, as one that fails is.
            wrong = fault.reason == "WrongDigest"
            self._next(ImageFault(fault.subject, fault.reason, fault.message, retry=fault.retry or wrong))
            return True

    def mix(self) -> None:
        """A stream goes on at another place."""
        with self._lock:
            self._mixed = True

    def _next(self, fault: ImageFault) -> None:
        del self._blobs[0]
        if self._left:
            self._left.pop(0)(fault)


def doubt(blob: Blob, fault: ImageFault) -> bool:
    """Whether bytes of a blob that led to a fault were not checked and of a mirror, which is left: whoever begins anew
    at the blob's start has them from elsewhere."""
    final = not fault.retry and fault.reason not in _VERIFIED
    return final and isinstance(blob, FailoverBlob) and blob.doubt(fault)


def read_anew(blob: Blob, work: Callable[[], _T]) -> _T:
    """What `work` gives, which reads the blob from its start, or a part that it cannot check: done again without a
    mirror whose bytes may have been wrong. Raises ImageFault, that of the last place."""
    while True:
        try:
            return work()
        except ImageFault as fault:
            if not doubt(blob, fault):
                raise


def read_checked(
    blob: Blob, start: int, buffer: memoryview, check: Callable[[], None], behind: Blob | None = None
) -> None:
    """Fills the buffer and calls `check`, which raises ImageFault for bytes that are not what they should be: the place
    that they came from is left then, and the next one asked. `behind`: the blob itself, where `blob` is around it.

    Raises ImageFault, that of the last place.
    """
    places = behind or blob
    while True:
        place = places.current() if isinstance(places, FailoverBlob) else None
        blob.readinto(start, buffer)
        try:
            return check()
        except ImageFault as fault:
            if not isinstance(places, FailoverBlob) or place is None:
                raise
            places.leave(place, fault)


class _FailoverStream:
    def __init__(self, blob: FailoverBlob, start: int) -> None:
        self._blob = blob
        self._start = start
        self._place = blob.current()
        self._stream = self._place.stream(start)

    @property
    def position(self) -> int:
        return self._stream.position

    def readinto(self, buffer: memoryview) -> int:
        while True:
            try:
                return self._stream.readinto(buffer)
            except ImageFault as fault:
                self._blob.leave(self._place, fault)
                position = self._stream.position
                if position > self._start:
                    self._blob.mix()
                self._stream.close()
                self._place = self._blob.current()
                self._stream = self._place.stream(position)

    def close(self) -> None:
        self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
