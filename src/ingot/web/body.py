"""What a request brings: which bytes of the upload, and these bytes as they come."""

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

import aiohttp
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

# A client that sends nothing for so long is gone, or might as well be.
IDLE_SECONDS = 60.0
OFFSET, LENGTH, IDENTITY = "Upload-Offset", "Upload-Length", "Upload-Identity"
ENCODING = "Content-Encoding"
# A body is taken as it comes. A file that is packed is unpacked by its import, whatever is said of it; a form is not.
_UNPACKED = ("identity",)
_PACKINGS = (*_UNPACKED, "gzip", "x-gzip", "zstd")
_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)")
_NUMBER = re.compile(r"\d{1,18}")
_WORD = re.compile(r"[!-~]{1,128}")
# Of a form, in which the file is one of the fields.
_FILE_FIELD = "file"
_PIECE = 256 << 10


class BadBody(Exception):
    """It is not what it says, or does not say what it is: `why`; `code` is HTTP's word for that."""

    def __init__(self, why: str, code: int = 400) -> None:
        super().__init__(why)
        self.why = why
        self.code = code


class Cut(Exception):
    """It has ended before its end: `why`."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes of an upload from `start` on, which has `total` of them (0: unknown). `last`: the upload ends with them.
    `anew`: nothing was said of an upload that is under way. `identity`: by which the client knows the file again."""

    start: int
    total: int
    last: bool
    anew: bool
    identity: str = ""


def part_of(request: web.BaseRequest, form: bool) -> Part:
    """What the headers say. Raises BadBody."""
    _check_encoding(request, _UNPACKED if form else _PACKINGS)
    length = None if form else request.content_length
    identity = request.headers.get(IDENTITY, "")
    if identity and not _WORD.fullmatch(identity):
        raise BadBody(f"{IDENTITY} is {identity[:40]!r}; it must be one word of at most 128 characters of ASCII")
    text = request.headers.get("Content-Range")
    if text is not None:
        return _ranged(text, length, identity)
    offset = request.headers.get(OFFSET)
    if offset is None:
        return Part(0, length or 0, True, True, identity)
    if not _NUMBER.fullmatch(offset):
        raise BadBody(f"{OFFSET} is {offset[:40]!r}; it must be a number of bytes")
    return Part(int(offset), int(offset) + length if length is not None else 0, True, int(offset) == 0, identity)


def _check_encoding(request: web.BaseRequest, taken: Sequence[str]) -> None:
    told = ", ".join(request.headers.getall(ENCODING, ()))
    if told and told.lower() not in taken:
        raise BadBody(f"{ENCODING} is {told[:40]!r}; it must be {' or '.join(taken)}", 415)


def _ranged(text: str, length: int | None, identity: str) -> Part:
    found = _RANGE.fullmatch(text)
    if not found:
        raise BadBody(f"Content-Range is {text[:60]!r}; it must be like bytes 1048576-2097151/2097152")
    start, end = int(found[1]), int(found[2]) + 1
    total = 0 if found[3] == "*" else int(found[3])
    # Of an upload that is whole nothing is left to be sent: bytes 9-8/9.
    if end < start or (end == start != total) or (total and end > total) or length not in (None, end - start):
        raise BadBody(f"Content-Range {text} does not fit a body of {length} bytes")
    return Part(start, total, bool(total) and end == total, start == 0, identity)


async def pieces(request: web.BaseRequest, form: bool) -> AsyncGenerator[bytes, None]:
    """The bytes as they come. Raises Cut when they do not all come, and BadBody for a form without a file."""
    source = _of_form(request) if form else _plain(request)
    while True:
        try:
            async with asyncio.timeout(IDLE_SECONDS):
                piece = await anext(source, b"")
        except TimeoutError:
            raise Cut(f"nothing has come for {IDLE_SECONDS:g} s") from None
        except (aiohttp.ClientError, web.RequestPayloadError, HttpProcessingError, ConnectionError) as error:
            raise Cut(f"the connection has broken ({type(error).__name__})") from error
        if not piece:
            return
        yield piece


async def _plain(request: web.BaseRequest) -> AsyncGenerator[bytes, None]:
    while piece := await request.content.readany():
        yield piece


async def _of_form(request: web.BaseRequest) -> AsyncGenerator[bytes, None]:
    """The file of a form; what else is in it is left unread."""
    try:
        form = await request.multipart()
        while (field := await form.next()) is not None:
            if isinstance(field, aiohttp.BodyPartReader) and field.name == _FILE_FIELD:
                while piece := await field.read_chunk(_PIECE):
                    yield bytes(piece)
                return
            if isinstance(field, aiohttp.BodyPartReader):
                await field.release()
    except (ValueError, AssertionError) as error:
        raise BadBody(f"it is no form: {error}") from error
    raise BadBody(f"the form has no field {_FILE_FIELD!r}")
