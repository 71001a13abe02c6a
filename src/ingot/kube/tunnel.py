"""A request handed on to a server behind a unix socket: plain ones with their answers, WebSockets as tunnels."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import aiohttp
import msgspec
from aiohttp import WSCloseCode, WSMsgType, web
from multidict import CIMultiDict
from yarl import URL

from ingot.api.status import ApiError
from ingot.host import sockets

# So long may a plain request take, as all requests to an API server.
ANSWER_SECONDS = 60.0
MAX_ANSWER = 3 << 20
# One message of a WebSocket. Nothing else is held: a side that does not read stops the other.
MAX_MESSAGE = 1 << 20
GOODBYE_SECONDS = 2.0
# What of a request is for the server behind; everything else is between the client and us.
HANDED_ON = ("Accept", "Content-Type", "User-Agent")
# How a side leaves that says nothing.
GONE = (WSCloseCode.GOING_AWAY, b"")
_PROTOCOLS = "Sec-WebSocket-Protocol"
# A token in place of an Authorization header is for us alone.
_BEARER = "base64url.bearer.authorization.k8s.io."


# Those that are added to what is handed on; a name may come more than once.
Headers: TypeAlias = Iterable[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Behind:
    """A server on a unix socket. `missing` makes the refusal when nobody answers there, of what was found."""

    socket: Path
    missing: Callable[[str], ApiError]

    async def forward(self, request: web.BaseRequest, path: str, body: bytes, headers: Headers) -> web.Response:
        """Its answer to the request, at `path` and with `headers` besides those handed on."""
        async with self._session() as session:
            try:
                async with (
                    asyncio.timeout(ANSWER_SECONDS),
                    session.request(
                        request.method, _url(path, request), data=body, headers=_headers(request, headers)
                    ) as answer,
                ):
                    content = await _limited(answer)
                    kind = answer.headers.get("Content-Type", "application/json")
                    return web.Response(body=content, status=answer.status, headers={"Content-Type": kind})
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise self.missing(_why(error)) from error

    async def tunnel(self, request: web.BaseRequest, path: str, headers: Headers) -> web.StreamResponse:
        """Upgrades both sides and carries messages until one closes. A refusal of the server behind is passed on."""
        async with self._session() as session:
            try:
                upstream = await session.ws_connect(
                    _url(path, request),
                    protocols=_protocols(request),
                    headers=_headers(request, headers),
                    max_msg_size=MAX_MESSAGE,
                    timeout=aiohttp.ClientWSTimeout(ws_close=GOODBYE_SECONDS),
                )
            except aiohttp.WSServerHandshakeError as error:
                raise await self._refusal(request, path, headers, error.status) from error
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise self.missing(_why(error)) from error
            async with upstream:
                chosen = (upstream.protocol,) if upstream.protocol else ()
                client = answering(chosen)
                await client.prepare(request)
                await hang_up(client, request, await _splice(client, upstream))
                return client

    async def _refusal(self, request: web.BaseRequest, path: str, headers: Headers, code: int) -> ApiError:
        """Why the handshake failed: asked again without an upgrade, for aiohttp keeps the answer to itself."""
        answer = await self.forward(request, path, b"", headers)
        if answer.status >= 400 and isinstance(answer.body, bytes):
            with contextlib.suppress(msgspec.DecodeError):
                return ApiError.from_status(msgspec.json.decode(answer.body, type=dict), answer.status)
        return ApiError(code, "", f"{path}: HTTP {code} instead of a WebSocket")

    @contextlib.asynccontextmanager
    async def _session(self) -> AsyncIterator[aiohttp.ClientSession]:
        with sockets.short(self.socket) as name:
            async with aiohttp.ClientSession(connector=aiohttp.UnixConnector(name)) as session:
                yield session


def _why(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorError):
        return error.os_error.strerror or "no connection"
    return str(error) or type(error).__name__


def answering(protocols: Iterable[str]) -> web.WebSocketResponse:
    """Our side of a client's WebSocket. A goodbye is answered by `hang_up`, when what was said before it has arrived:
    the client takes the answer for that."""
    return web.WebSocketResponse(protocols=protocols, max_msg_size=MAX_MESSAGE, compress=False, autoclose=False)


def is_upgrade(request: web.BaseRequest) -> bool:
    return request.headers.get("Upgrade", "").lower() == "websocket"


def _url(path: str, request: web.BaseRequest) -> URL:
    query = request.rel_url.raw_query_string
    return URL(f"http://localhost{path}{'?' if query else ''}{query}", encoded=True)


def _headers(request: web.BaseRequest, added: Headers) -> CIMultiDict[str]:
    handed = CIMultiDict((name, request.headers[name]) for name in HANDED_ON if name in request.headers)
    handed.extend(added)
    return handed


def _protocols(request: web.BaseRequest) -> list[str]:
    offered = ",".join(request.headers.getall(_PROTOCOLS, ()))
    names = [name.strip() for name in offered.split(",")]
    return [name for name in names if name and not name.startswith(_BEARER)]


async def _limited(answer: aiohttp.ClientResponse) -> bytes:
    content = bytearray()
    async for chunk in answer.content.iter_any():
        content += chunk
        if len(content) > MAX_ANSWER:
            raise ApiError(502, "", f"the answer is longer than {MAX_ANSWER} bytes")
    return bytes(content)


Side = web.WebSocketResponse | aiohttp.ClientWebSocketResponse
Farewell = tuple[int, bytes]


async def _splice(client: web.WebSocketResponse, upstream: aiohttp.ClientWebSocketResponse) -> Farewell:
    """How the first of them that closed has said goodbye."""
    down, up = asyncio.create_task(_carry(upstream, client)), asyncio.create_task(_carry(client, upstream))
    try:
        done, _ = await asyncio.wait((down, up), return_when=asyncio.FIRST_COMPLETED)
        if up in done:
            # While `down` still waits: one that is cancelled makes this break off, and not wait for the answer.
            await upstream.close()
    finally:
        for side in (down, up):
            side.cancel()
        await asyncio.gather(down, up, return_exceptions=True)
    return done.pop().result()


async def _carry(source: Side, sink: Side) -> Farewell:
    while True:
        message = await source.receive()
        try:
            if message.type is WSMsgType.BINARY:
                await sink.send_bytes(message.data)
            elif message.type is WSMsgType.TEXT:
                await sink.send_str(message.data)
            elif message.type is WSMsgType.CLOSE:
                return message.data or WSCloseCode.OK, (message.extra or "").encode()
            else:
                return GONE
        except ConnectionError:
            return GONE


async def hang_up(client: web.WebSocketResponse, request: web.BaseRequest, farewell: Farewell) -> None:
    """Says goodbye, but does not wait for a client that has stopped to read."""
    code, message = farewell
    try:
        async with asyncio.timeout(GOODBYE_SECONDS):
            await client.close(code=code, message=message)
    except TimeoutError:
        if request.transport:
            request.transport.abort()
