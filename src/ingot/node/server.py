"""The agent's server: what can be asked of the guests of one node, over a unix socket."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
from aiohttp import WSCloseCode, web

from ingot.api.status import ApiError, bad_request, internal
from ingot.host import sockets
from ingot.node.console import Seats, pump
from ingot.node.guests import Guests

log = logging.getLogger(__name__)

PREFIX = "/v1/namespaces/{namespace}/virtualmachineinstances/{name}"
# What KubeVirt's clients call a stream of plain bytes.
PLAIN = "plain.kubevirt.io"
# A keystroke is a byte; what is pasted comes in messages of some kilobytes.
MAX_MESSAGE = 1 << 20
NO_GUEST = b"QEMU does not answer"
GOODBYE_SECONDS = 2.0
SHUTDOWN_SECONDS = 1.0

_Act = Callable[[str, str], Awaitable[None]]
_Find = Callable[[str, str], Path]


class AgentServer:
    """Serves one node's guests to whoever may open its socket: the user whom the agent runs as."""

    def __init__(self, guests: Guests, socket: Path) -> None:
        self._socket = socket
        self._seats = Seats()
        self._runner: web.AppRunner | None = None
        self._app = web.Application(middlewares=[_refusals])
        for word, act in (
            ("pause", guests.pause),
            ("unpause", guests.unpause),
            ("reset", guests.reset),
            ("softreboot", guests.soft_reboot),
        ):
            self._app.router.add_put(f"{PREFIX}/{word}", _acting(act))
        for word, find in (("console", guests.console_socket), ("vnc", guests.vnc_socket)):
            self._app.router.add_get(f"{PREFIX}/{word}", self._streaming(find))

    async def start(self) -> None:
        """Returns when requests are answered. Raises OSError when the socket cannot be made."""
        self._runner = web.AppRunner(
            self._app, access_log=None, handler_cancellation=True, shutdown_timeout=SHUTDOWN_SECONDS
        )
        await self._runner.setup()
        await web.SockSite(self._runner, sockets.listen(self._socket)).start()

    async def stop(self) -> None:
        """Hangs up on everyone; the guests go on."""
        if self._runner:
            await self._runner.cleanup()
            self._socket.unlink(missing_ok=True)

    def _streaming(self, find: _Find) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            path = find(*_instance(request))
            client = web.WebSocketResponse(protocols=(PLAIN,), max_msg_size=MAX_MESSAGE, compress=False)
            if not client.can_prepare(request):
                raise bad_request("this is a WebSocket: an upgrade is required")
            await client.prepare(request)
            try:
                async with self._seats.take(path) as leave:
                    why = await pump(client, path, leave)
            except OSError as error:
                log.warning("%s cannot be opened: %s", path, error)
                why = NO_GUEST
            await _close(client, request, why)
            return client

        return handle


def _acting(act: _Act) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def handle(request: web.Request) -> web.StreamResponse:
        await act(*_instance(request))
        return web.Response(status=202)

    return handle


async def _close(client: web.WebSocketResponse, request: web.Request, why: bytes) -> None:
    """Says goodbye, but does not wait for a client that has stopped to read."""
    try:
        async with asyncio.timeout(GOODBYE_SECONDS):
            await client.close(code=WSCloseCode.GOING_AWAY, message=why)
    except TimeoutError:
        if request.transport:
            request.transport.abort()


def _instance(request: web.Request) -> tuple[str, str]:
    return request.match_info["namespace"], request.match_info["name"]


@web.middleware
async def _refusals(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Refusals as the wire has them."""
    try:
        return await handler(request)
    except ApiError as error:
        refusal = error
    except (web.HTTPException, ConnectionError):
        raise
    except Exception as error:
        log.exception("%s %s failed", request.method, request.path)
        refusal = internal(f"{type(error).__name__}: {error}")
    return web.Response(
        body=msgspec.json.encode(refusal.status()), status=refusal.code, content_type="application/json"
    )
