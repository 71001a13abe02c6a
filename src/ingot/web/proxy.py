"""The endpoint for uploads: CDI's paths, a token for each, and the bytes passed on to the pod that fills the volume."""

import asyncio
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import aiohttp
from aiohttp import web

from ingot.api.status import ApiError
from ingot.control.reach import Line
from ingot.control.uploads.token import MOST_CHARACTERS, Grant
from ingot.kube.transport import ConnectionFailed
from ingot.web import cors
from ingot.web.body import ENCODING, IDENTITY, LENGTH, OFFSET, BadBody, Cut, pieces
from ingot.web.destination import Destination, Destinations, NotReady, Refused
from ingot.web.door import proceed, refusal
from ingot.web.receiver import FORM

log = logging.getLogger(__name__)

VERSIONS = ("v1beta1", "v1alpha1")
# Ours need no second step, so what CDI calls async is the same: one answer, when the volume is filled.
_PLAIN = ("upload", "upload-async")
_FORMS = ("upload-form", "upload-form-async")
PATHS = {f"/{version}/{name}": FORM if name in _FORMS else "/" for version in VERSIONS for name in (*_PLAIN, *_FORMS)}
METHODS = ("PUT", "POST", "HEAD")
MOST_UPLOADS = 64
# So that none keeps all others out.
MOST_OF_NAMESPACE = MOST_UPLOADS // 4
CONNECT_SECONDS = 10.0
_STARTING_SECONDS = 10.0
_STARTING_PAUSE = 0.1
# Claims, and primes of such, that were filled, while the API may not say so yet.
_MOST_REMEMBERED = 1024
# What of a request is for the pod.
_HANDED_ON = ("Content-Length", "Content-Range", "Content-Type", ENCODING, OFFSET, IDENTITY)
_MOST_ANSWER = 64 << 10


class Proxy:
    """The handler of the endpoint."""

    def __init__(self, destinations: Destinations) -> None:
        self._destinations = destinations
        self._running: Counter[str] = Counter()
        self._filled: OrderedDict[str, None] = OrderedDict()

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        path = PATHS.get(request.path)
        if request.path in ("/healthz", "/readyz"):
            return web.Response(text="OK")
        if path is None:
            return refusal(404, f"nothing is here; uploads go to /{VERSIONS[0]}/upload")
        if cors.is_preflight(request):
            return cors.preflight(METHODS)
        return cors.opened(await self._admit(request, path))

    async def _admit(self, request: web.BaseRequest, path: str) -> web.Response:
        if request.method not in METHODS:
            return refusal(405, f"only {', '.join(METHODS)} are possible", {"Allow": ", ".join(METHODS)})
        return await self._answer(request, path)

    async def _answer(self, request: web.BaseRequest, path: str) -> web.Response:
        try:
            grant = await self._destinations.grant(_token(request))
            if why := self._full(grant.namespace):
                return refusal(503, f"{why}; try again later", {"Retry-After": "10"})
            return await self._counted(request, grant, path)
        except Refused:
            challenge = {"WWW-Authenticate": "Bearer"}
            return refusal(401, "Unauthorized: ask for a new token, with an UploadTokenRequest", challenge)
        except NotReady as error:
            return refusal(503, error.why, {"Retry-After": "1"})
        except (ApiError, ConnectionFailed) as error:
            log.warning("a token cannot be looked at: %s", error)
            return refusal(503, "the API server does not answer; try again", {"Retry-After": "5"})
        except BadBody as error:
            return refusal(error.code, error.why)
        except Cut as error:
            return refusal(408, error.why)
        except (aiohttp.ClientError, OSError) as error:
            log.warning("a pod does not take its upload: %s: %s", type(error).__name__, error)
            return refusal(503, "the pod of the upload does not answer; try again", {"Retry-After": "2"})

    def _full(self, namespace: str) -> str:
        """Why no upload of that namespace can be taken as well; "" where one can."""
        if self._running[namespace] >= MOST_OF_NAMESPACE:
            return f"{MOST_OF_NAMESPACE} uploads of namespace {namespace} are under way, which is its share"
        return f"{MOST_UPLOADS} uploads are under way" if self._running.total() >= MOST_UPLOADS else ""

    async def _counted(self, request: web.BaseRequest, grant: Grant, path: str) -> web.Response:
        """From the first question to the API on, which has many clients."""
        self._running[grant.namespace] += 1
        try:
            destination = await self._destinations.find(grant)
            if destination.filled_uid in self._filled:
                raise Refused
            return await self._pass_on(request, destination, path)
        finally:
            # Without those that have none any more: there may be any number of namespaces.
            self._running -= Counter([grant.namespace])

    async def _pass_on(self, request: web.BaseRequest, destination: Destination, path: str) -> web.Response:
        """A pod that runs may not listen yet; nothing was taken from the client then."""
        until = time.monotonic() + _STARTING_SECONDS
        while True:
            try:
                return await self._attempt(request, destination, path)
            except aiohttp.ClientConnectorError:
                if time.monotonic() >= until:
                    raise
                await asyncio.sleep(_STARTING_PAUSE)

    async def _attempt(self, request: web.BaseRequest, destination: Destination, path: str) -> web.Response:
        headers = {name: ", ".join(request.headers.getall(name)) for name in _HANDED_ON if name in request.headers}
        headers["Authorization"] = f"Bearer {destination.credentials.word}"
        has_body = request.method != "HEAD" and request.body_exists
        stopped: list[BadBody | Cut] = []
        try:
            async with (
                _session(destination.line) as session,
                session.request(
                    request.method,
                    f"{_origin(destination.line)}{path}",
                    data=_body(request, stopped) if has_body else None,
                    headers=headers,
                    # The pod is asked before a byte is sent, and so may refuse before the client sends any.
                    expect100=has_body,
                    ssl=aiohttp.Fingerprint(destination.credentials.fingerprint),
                    allow_redirects=False,
                ) as answer,
            ):
                content = await answer.content.read(_MOST_ANSWER)
                if answer.status == 200 and request.method != "HEAD":
                    self._remember(destination.filled_uid)
                return _answered(answer, content)
        except aiohttp.ClientError:
            if stopped:
                raise stopped[0] from None
            raise

    def _remember(self, filled_uid: str) -> None:
        self._filled[filled_uid] = None
        if len(self._filled) > _MOST_REMEMBERED:
            self._filled.popitem(last=False)


async def _body(request: web.BaseRequest, stopped: list[BadBody | Cut]) -> AsyncIterator[bytes]:
    """What the client sends, once the pod wants it; the reason where that ends too early is put into `stopped`.

    What goes beyond the length that the pod is told never gets there: aiohttp leaves it out and says nothing.
    """
    await proceed(request)
    length, sent = request.content_length, 0
    try:
        async with aclosing(pieces(request, form=False)) as coming:
            async for piece in coming:
                sent += len(piece)
                if length is not None and sent > length:
                    raise BadBody(f"more bytes have come than the {length} of Content-Length")
                yield piece
    except (BadBody, Cut) as error:
        stopped.append(error)
        raise


def _token(request: web.BaseRequest) -> str:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or len(token) > MOST_CHARACTERS:
        raise Refused
    return token.strip()


def _answered(answer: aiohttp.ClientResponse, content: bytes) -> web.Response:
    kept = ("Content-Type", "Retry-After", "Allow", OFFSET, LENGTH, IDENTITY)
    headers = {name: answer.headers[name] for name in kept if name in answer.headers}
    return web.Response(status=answer.status, body=content, headers=headers)


def _origin(line: Line) -> str:
    """Nobody but the pod can listen on a socket that is its own: that needs no TLS."""
    return f"{'http' if line.socket else 'https'}://{line.authority}"


@asynccontextmanager
async def _session(line: Line) -> AsyncIterator[aiohttp.ClientSession]:
    """For the way to one pod. An upload takes as long as it takes."""
    with line.connector() as connector:
        async with aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            trust_env=False,
            auto_decompress=False,
            skip_auto_headers=("User-Agent", "Accept-Encoding"),
        ) as session:
            yield session
