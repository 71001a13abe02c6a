"""Uploads by pages of other origins: what a browser wants to hear before and after it sends them (Fetch, CORS).

Pages of every origin may, as with CDI. The right is the token, which a page must have and put into each request itself:
there is no cookie, nor anything else that a browser would add on its own, for a stranger's page to ride on.
"""

from collections.abc import Sequence

from aiohttp import web

from ingot.web.body import IDENTITY, LENGTH, OFFSET

# What a page may send beside what every page may, and may read of the answer.
_SENT = ("Authorization", "Content-Type", "Content-Range", OFFSET, IDENTITY)
_READ = (OFFSET, LENGTH, IDENTITY, "Retry-After", "WWW-Authenticate", "Allow")
# As long as browsers take: nothing of this changes.
_REMEMBERED_SECONDS = 7200
_ANY = {"Access-Control-Allow-Origin": "*"}


def is_preflight(request: web.BaseRequest) -> bool:
    """Whether a browser asks what a page may do, before that does it."""
    return request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers


def preflight(methods: Sequence[str]) -> web.Response:
    """The answer to that."""
    allowed = {
        "Access-Control-Allow-Methods": ", ".join(methods),
        "Access-Control-Allow-Headers": ", ".join(_SENT),
        "Access-Control-Max-Age": str(_REMEMBERED_SECONDS),
    }
    return web.Response(status=204, headers=_ANY | allowed)


def opened(answer: web.Response) -> web.Response:
    """The answer, for pages of other origins to read, refusals too."""
    answer.headers.update(_ANY | {"Access-Control-Expose-Headers": ", ".join(_READ)})
    return answer
