"""Bytes, codes and headers of answers."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

import msgspec
from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

from ingot.api.object import Object
from ingot.api.status import ApiError
from ingot.standalone.access.impersonation import PlainRefusal
from ingot.standalone.http.negotiate import JSON
from ingot.standalone.jsontext import encode

NO_CACHE = "no-cache, private"
# More than this is written in parts of this size, each when the client has taken most of what was before it.
PART = 128 << 10


class Whole(web.Response):
    """An answer whose bytes are there. What the client has not taken is not copied into the connection's buffers."""

    async def write_eof(self, data: bytes = b"") -> None:
        body, request = self.body, self._req
        if isinstance(body, bytes) and len(body) > PART and request is not None and request.method != "HEAD":
            await _write(self, body)
            await web.StreamResponse.write_eof(self)
        else:
            await super().write_eof(data)


class Pieces(web.StreamResponse):
    """An answer that is made while the client takes it."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        super().__init__()
        self._pieces = pieces

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        if request.method == "HEAD":
            self._pieces = iter(())
        return await super().prepare(request)

    async def write_eof(self, data: bytes = b"") -> None:
        for piece in self._pieces:
            await _write(self, piece)
        await super().write_eof(data)


async def _write(response: web.StreamResponse, content: bytes) -> None:
    """Returns when nearly all has left the process."""
    rest = memoryview(content)
    while rest:
        await response.write(rest[:PART])
        rest = rest[PART:]


def answer(body: bytes, code: int = 200, media: str = JSON, headers: Mapping[str, str] | None = None) -> web.Response:
    made = Whole(body=body, status=code, headers=headers)
    _describe(made, media)
    return made


def stream(pieces: Iterator[bytes], media: str) -> web.StreamResponse:
    """An answer of pieces; one that is small is made at once, so that what cannot be made is an error."""
    first: list[bytes] = []
    for piece in pieces:
        first.append(piece)
        if sum(map(len, first)) > PART:
            made = Pieces(chain(first, pieces))
            _describe(made, media)
            return made
    return answer(b"".join(first), media=media)


def _describe(response: web.StreamResponse, media: str) -> None:
    response.headers["Content-Type"] = media
    response.headers["Cache-Control"] = NO_CACHE


def document(obj: Object, code: int = 200) -> web.Response:
    return answer(encode(obj), code)


def refusal(error: ApiError) -> web.Response:
    if isinstance(error, PlainRefusal):
        return answer(f"{error.message}\n".encode(), error.code, media="text/plain; charset=utf-8")
    headers = {}
    if seconds := (error.details or {}).get("retryAfterSeconds"):
        headers["Retry-After"] = str(seconds)
    return answer(encode(error.status()), error.code, headers=headers)


def indent(response: web.StreamResponse) -> None:
    """Spreads a JSON answer over lines, for people."""
    if isinstance(response, web.Response) and response.content_type == JSON and isinstance(response.body, bytes):
        response.body = msgspec.json.format(response.body, indent=2)


def warn(response: web.StreamResponse, warnings: Iterable[str]) -> None:
    """Adds a Warning header for each text, quoted as RFC 7234 asks."""
    for text in dict.fromkeys(warnings):
        quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
        response.headers.add("Warning", f'299 - "{quoted}"')
