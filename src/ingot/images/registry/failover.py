"""A blob that is in several places: where one fails, the next is asked."""

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

from ingot.images.blob import Blob, Bytes, ByteStream
from ingot.images.fault import ImageFault

_T = TypeVar("_T")
# Told of a blob that was read to its end, and has its digest.
_VERIFIED = frozenset(("NoDisk",))
# How long a place that has failed is not asked again.
REST_SECONDS = 60.0


@dataclass(slots=True, eq=False)
class _Place:
    """`left` is told when it is left, and why. `tried`: whether one asks if it is back, for which others need not wait;
    `mixed`: whether a stream has had bytes of it, and went on elsewhere."""

    blob: Blob
    left: Callable[[ImageFault], None]
    rests_until: float = 0.0
    tried: bool = False
    mixed: bool = False

    @property
    def resting(self) -> bool:
        return self.rests_until > 0.0 and time.monotonic() < self.rests_until


class FailoverBlob:
    """The same blob at mirrors and at its registry, in the order in which they are asked. A mirror that has failed
    rests for a minute: it is asked only where all others fail. One that has given wrong bytes is not asked again. The
    fault of the registry is told."""

    def __init__(self, blobs: Sequence[Blob], left: Sequence[Callable[[ImageFault], None]] = ()) -> None:
        """`left`: for each place, who is told when it is left, and why."""
        told = left or [_nobody] * len(blobs)
        self._places = [_Place(blob, each) for blob, each in zip(blobs, told, strict=True)]
        self._lock = threading.Lock()

    @property
    def subject(self) -> str:
        return self._places[-1].blob.subject

    @property
    def size(self) -> int:
        return self._places[-1].blob.size

    @property
    def ranged(self) -> bool:
        return self._ask(lambda blob: blob.ranged)

    def readinto(self, start: int, buffer: memoryview) -> None:
        self._ask(lambda blob: blob.readinto(start, buffer))

    def read(self, start: int, length: int) -> Bytes:
        return self._ask(lambda blob: blob.read(start, length))

    def stream(self, start: int = 0) -> ByteStream:
        return _FailoverStream(self, start)

    def current(self) -> Blob:
        """The place that is asked first."""
        return self._first().blob

    def reject(self, blob: Blob, fault: ImageFault) -> None:
        """That place has given wrong bytes. Raises the fault where it is the registry itself."""
        with self._lock:
            place = next(place for place in self._places if place.blob is blob)
            if place is self._places[-1]:
                raise fault
            if place.rests_until < math.inf:
                self._rest(place, fault, math.inf)

    def doubt(self, fault: ImageFault) -> bool:
        """What a stream has given led to that fault: whether the same stream may give something else now, because a
        place whose bytes were among them is left."""
        with self._lock:
            mixed = [place for place in self._places if place.mixed]
            for place in mixed:
                place.mixed, place.rests_until = False, math.inf
            first = self._first()
            if first is self._places[-1]:
                return bool(mixed)
            # A mirror with wrong bytes may have more of them: it is left alone for a while, as one that fails is.
            retry = fault.retry or fault.reason == "WrongDigest"
            self._rest(first, ImageFault(fault.subject, fault.reason, fault.message, retry=retry), math.inf)
            return True

    def order(self) -> list[_Place]:
        """The places to ask, one after the other."""
        with self._lock:
            asked = [place for place in self._places if not place.resting]
            resting = [place for place in self._places if place.resting and place.rests_until < math.inf]
            for place in asked:
                if place.rests_until:
                    place.tried, place.rests_until = True, time.monotonic() + REST_SECONDS
            return asked + resting

    def leave(self, place: _Place, fault: ImageFault) -> bool:
        """It has failed; whether it is the registry itself."""
        with self._lock:
            own = place is self._places[-1]
            if not own and (place.tried or not place.resting):
                self._rest(place, fault, time.monotonic() + REST_SECONDS)
            return own

    def mix(self, place: _Place) -> None:
        """A stream that has had bytes of it goes on at another place."""
        with self._lock:
            place.mixed = place is not self._places[-1]

    def found(self, place: _Place) -> None:
        """It has given what it was asked for."""
        if place.rests_until:
            with self._lock:
                place.tried = False
                if place.rests_until < math.inf:
                    place.rests_until = 0.0

    def _ask(self, work: Callable[[Blob], _T]) -> _T:
        turn = _Turn(self)
        while True:
            try:
                given = work(turn.place.blob)
            except ImageFault as fault:
                turn.next(fault)
            else:
                self.found(turn.place)
                return given

    def _first(self) -> _Place:
        """The registry itself never rests."""
        return next(place for place in self._places if not place.resting)

    def _rest(self, place: _Place, fault: ImageFault, until: float) -> None:
        place.tried, place.rests_until = False, until
        place.left(fault)


class _Turn:
    """One request, which goes from place to place until one gives what it should."""

    def __init__(self, blob: FailoverBlob) -> None:
        self._blob = blob
        self._places = blob.order()
        self.place = self._places.pop(0)
        self._fault: ImageFault | None = None
        # Whether a mirror may be back soon.
        self._hope = False

    def next(self, fault: ImageFault) -> None:
        """Goes on to the next place. Raises the fault of the registry where there is none."""
        if self._blob.leave(self.place, fault):
            self._fault = fault
        else:
            self._hope |= fault.retry
        if self._places:
            self.place = self._places.pop(0)
            return
        told = self._fault or fault
        if self._hope and told.reason == "Unreachable" and not told.retry:
            # As behind a wall, where nobody but the mirror can be reached: that is not final.
            told = ImageFault(told.subject, told.reason, told.message, retry=True)
        raise told


def _nobody(_: ImageFault) -> None:
    """Is told, where nobody else is."""


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
            places.reject(place, fault)


class _FailoverStream:
    def __init__(self, blob: FailoverBlob, start: int) -> None:
        self._blob = blob
        self._start = start
        self._turn = _Turn(blob)
        self._stream = self._turn.place.blob.stream(start)

    @property
    def position(self) -> int:
        return self._stream.position

    def readinto(self, buffer: memoryview) -> int:
        while True:
            try:
                count = self._stream.readinto(buffer)
            except ImageFault as fault:
                place = self._turn.place
                self._turn.next(fault)
                position = self._stream.position
                if position > self._start:
                    self._blob.mix(place)
                self._stream.close()
                self._stream = self._turn.place.blob.stream(position)
            else:
                self._blob.found(self._turn.place)
                return count

    def close(self) -> None:
        self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
