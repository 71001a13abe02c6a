"""The bytes of a blob behind HTTP in their order, over as many connections as it takes."""

from typing import Protocol, Self

from ingot.images.fault import ImageFault
from ingot.images.registry.response import Response
from ingot.images.registry.retry import Backoff
from ingot.images.registry.settings import Settings

# So much must come for a broken read to have its tries anew.
PROGRESS = 1 << 16
_SKIP = 1 << 18


class Source(Protocol):
    """Where a stream has its bytes from: HttpBlob."""

    settings: Settings
    # Whether what is read again is known to be what was read before.
    repeatable: bool

    @property
    def subject(self) -> str: ...

    @property
    def size(self) -> int: ...

    def open(self, start: int, end: int) -> Response: ...

    def open_whole(self) -> Response: ...


class HttpStream:
    """A ByteStream over HTTP."""

    def __init__(self, blob: Source, start: int) -> None:
        self._blob = blob
        self._position = self._counted = start
        self._response: Response | None = None
        self._backoff = Backoff(blob.settings)

    @property
    def position(self) -> int:
        return self._position

    def readinto(self, buffer: memoryview) -> int:
        left = self._blob.size - self._position
        if left == 0 or len(buffer) == 0:
            return 0
        while True:
            try:
                response = self._response or self._open()
                count = response.readinto(buffer[:left])
                if count == 0:
                    raise broken(self._blob, self._position)
                break
            except ImageFault as fault:
                self.close()
                self._again(fault)
        self._position += count
        if self._position == self._blob.size:
            self._end(response)
        return count

    def _again(self, fault: ImageFault) -> None:
        if self._position - self._counted >= PROGRESS:
            self._counted = self._position
            self._backoff.progress()
        self._backoff.wait(fault)

    def _open(self) -> Response:
        blob, place = self._blob, self._position
        if place == 0:
            self._response = blob.open_whole()
        else:
            try:
                self._response = blob.open(place, blob.size)
            except ImageFault as fault:
                if fault.reason != "NoRanges":
                    raise
                self._response = self._skip(place)
        return self._response

    def _skip(self, place: int) -> Response:
        """From the start to that place. What is read again must be what was read before."""
        if not self._blob.repeatable:
            raise ImageFault(
                self._blob.subject,
                "NoRanges",
                "the connection was lost, and its server gives neither an ETag nor a date to see that it is unchanged",
                retry=True,
            )
        self._response = response = self._blob.open_whole()
        scratch = memoryview(bytearray(min(_SKIP, place)))
        while place:
            count = response.readinto(scratch[: min(place, len(scratch))])
            if count == 0:
                raise broken(self._blob, self._position - place)
            place -= count
        return response

    def _end(self, response: Response) -> None:
        """A body without a stated length must end where the blob does. All is there: how it ends is no fault."""
        more = response.goes_on()
        self.close()
        if more:
            raise ImageFault(self._blob.subject, "WrongLength", f"it goes on behind its {self._blob.size} bytes")

    def close(self) -> None:
        if self._response:
            self._response.close()
            self._response = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def broken(blob: Source, position: int) -> ImageFault:
    return ImageFault(blob.subject, "Truncated", f"the connection ends at byte {position} of {blob.size}", retry=True)
