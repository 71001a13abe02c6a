"""Bytes, codes and headers of answers."""

from collections.abc import Iterable, Mapping

import msgspec
from aiohttp import web

from ingot.api.object import Object
from ingot.api.status import ApiError
from ingot.standalone.access.impersonation import PlainRefusal
from ingot.standalone.http.negotiate import JSON
from ingot.standalone.jsontext import encode

NO_CACHE = "no-cache, private"


def answer(body: bytes, code: int = 200, media: str = JSON, headers: Mapping[str, str] | None = None) -> web.Response:
    made = web.Response(body=body, status=code, headers=headers)
    made.headers["Content-Type"] = media
    made.headers["Cache-Control"] = NO_CACHE
    return made


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
