"""Files of web servers that make them while they send them, and so do not know how long they will be."""

from collections.abc import Callable

from ingot.images.blob import ByteStream
from ingot.images.fault import ImageFault
from ingot.images.registry.refusal import refusal
from ingot.images.registry.response import Response
from ingot.images.single_blob import SingleBlob, SingleStream


class LengthlessBlob(SingleBlob):
    """It is read once, to an end that the server tells. Two reads may give two files, so that a broken one is not gone
    on with. `proven`: whoever reads it checks a digest of all of it, so that the server need not tell its end."""

    validator = ""

    def __init__(self, fetch: Callable[[], Response], subject: str, *, proven: bool) -> None:
        super().__init__(subject)
        self._fetch = fetch
        self._proven = proven

    def open(self) -> ByteStream:
        response = self._fetch()
        if response.status != 200:
            raise refusal(response)
        if not (self._proven or tells_end(response)):
            response.close()
            raise no_length(self.subject)
        return _LengthlessStream(response)


class _LengthlessStream(SingleStream):
    """A body that ends before the server says so is a fault of the connection, to be tried again."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self._response = response

    def take(self, buffer: memoryview) -> int:
        return self._response.readinto(buffer)

    def close(self) -> None:
        self._response.close()


def tells_end(response: Response) -> bool:
    """Whether half of the answer would not look like all of it."""
    return response.length is not None or response.ends_itself


def no_length(subject: str) -> ImageFault:
    """The fault of a server that tells neither how long a file is nor where it ends."""
    message = (
        "its server says neither how long it is nor where it ends, so that half of it would look whole: give its "
        "checksum, which proves that all has come, or take a server that says the length"
    )
    return ImageFault(subject, "NoLength", message)
