"""Blobs behind HTTP: ranges into memory that is there already; broken reads go on where they broke."""

import re
from collections.abc import Callable, Mapping

from ingot.images.blob import Bytes, ByteStream, check_range, no_ranges
from ingot.images.fault import ImageFault
from ingot.images.http_stream import PROGRESS, HttpStream, broken
from ingot.images.registry.refusal import refusal
from ingot.images.registry.response import Response
from ingot.images.registry.retry import Backoff
from ingot.images.registry.settings import Settings

# One GET with these headers, tried once.
Fetch = Callable[[Mapping[str, str]], Response]

CONTENT_RANGE = re.compile(r"bytes (?:(\d{1,19})-(\d{1,19})|\*)/(\d{1,19}|\*)")


class HttpBlob:
    """`fixed`: its address holds its digest, so that it cannot change. Else `validator` is the ETag or date that it
    must still have, "" where the server gives none: ranges of it could be of two versions, so it is read once, from
    its start only. `ranged`: None where that is not known yet."""

    def __init__(
        self,
        fetch: Fetch,
        subject: str,
        size: int,
        settings: Settings,
        *,
        fixed: bool = False,
        validator: str = "",
        ranged: bool | None = None,
    ) -> None:
        self._fetch = fetch
        self._subject = subject
        self._size = size
        self.settings = settings
        self.validator = validator
        self.repeatable = fixed or bool(validator)
        self._ranged = ranged if self.repeatable else False

    @property
    def subject(self) -> str:
        return self._subject

    @property
    def size(self) -> int:
        return self._size

    @property
    def ranged(self) -> bool:
        """Asks the server once. Raises ImageFault."""
        if self._ranged is None and self._size:
            try:
                self.read(self._size - 1, 1)
            except ImageFault:
                if self._ranged is None:
                    raise
        return self._ranged is not False

    def read(self, start: int, length: int) -> Bytes:
        check_range(self, start, length)
        buffer = bytearray(length)
        self.readinto(start, memoryview(buffer))
        return buffer

    def readinto(self, start: int, buffer: memoryview) -> None:
        check_range(self, start, len(buffer))
        backoff = Backoff(self.settings)
        done = counted = 0
        while done < len(buffer):
            try:
                response = self.open(start + done, start + len(buffer))
                try:
                    while done < len(buffer):
                        done += self._more(response, start + done, buffer[done:])
                finally:
                    response.close()
            except ImageFault as fault:
                if done - counted >= PROGRESS:
                    counted = done
                    backoff.progress()
                backoff.wait(fault)

    def _more(self, response: Response, position: int, buffer: memoryview) -> int:
        count = response.readinto(buffer)
        if count == 0:
            raise broken(self, position)
        return count

    def stream(self, start: int = 0) -> ByteStream:
        check_range(self, start, 0)
        return HttpStream(self, start)

    def open(self, start: int, end: int) -> Response:
        """The server's answer, which has exactly these bytes. Raises ImageFault."""
        if self._ranged is False:
            raise no_ranges(self)
        headers = {"Range": f"bytes={start}-{end - 1}"}
        if self.validator:
            headers["If-Range"] = self.validator
        response = self._fetch(headers)
        try:
            if response.status == 200:
                self._check_same(response)
                self._ranged = False
                raise no_ranges(self)
            if response.status != 206:
                raise self._refused(response)
            self._check_same(response)
            self._check_range(response, start, end)
        except ImageFault:
            response.close()
            raise
        self._ranged = True
        return response

    def open_whole(self) -> Response:
        """The server's answer, which has all bytes. Raises ImageFault."""
        response = self._fetch({})
        try:
            if response.status != 200:
                raise self._refused(response)
            self._check_same(response)
            if response.length not in (None, self._size):
                raise self._wrong_length(response.length)
        except ImageFault:
            response.close()
            raise
        return response

    def _refused(self, response: Response) -> ImageFault:
        if response.status == 416:
            response.discard()
            why = f"its server has less than the {self._size} bytes it should: push or upload it anew"
            return ImageFault(self._subject, "Truncated", why)
        if 200 <= response.status < 400:
            response.discard()
            return ImageFault(self._subject, "BadAnswer", f"its server answers {response.status} to a plain request")
        return refusal(response)

    def _check_same(self, response: Response) -> None:
        header = "ETag" if self.validator.startswith('"') else "Last-Modified"
        found = response.headers.get(header)
        if self.validator and found is None:
            raise ImageFault(self._subject, "Changed", f"its server does not say its {header} any more: start again")
        if self.validator and found != self.validator:
            raise ImageFault(self._subject, "Changed", "it was replaced while it was read: start again")

    def _check_range(self, response: Response, start: int, end: int) -> None:
        stated = response.headers.get("Content-Range", "")
        match = CONTENT_RANGE.fullmatch(stated.strip())
        if not match or (match[1], match[2]) != (str(start), str(end - 1)):
            raise ImageFault(
                self._subject,
                "BadRange",
                f"bytes {start}-{end - 1} were asked for, and its server sends {stated[:80]!r}",
            )
        if match[3] not in ("*", str(self._size)):
            raise self._wrong_length(int(match[3]))
        if response.length not in (None, end - start):
            raise self._wrong_length(response.length)

    def _wrong_length(self, found: int | None) -> ImageFault:
        return ImageFault(self._subject, "WrongLength", f"its server sends {found} bytes; it should have {self._size}")
