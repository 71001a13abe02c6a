"""The agent's server: what can be asked of the guests of one node, over a unix socket."""

import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
from aiohttp import WSCloseCode, web

from ingot.api.kubevirt.subresources import PLAIN
from ingot.api.status import ApiError, bad_request, internal
from ingot.host import sockets
from ingot.kube.tunnel import answering, hang_up
from ingot.node.console import Seats, pump
from ingot.node.guests import Guests

log = logging.getLogger(__name__)

PREFIX = "/v1/namespaces/{namespace}/virtualmachineinstances/{name}"
SHUTDOWN_SECONDS = 1.0

_Act = Callable[[str, str], Awaitable[None]]
_Open = Callable[[str, str], Awaitable[socket.socket]]


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
        for word, open_ in (("console", guests.console), ("vnc", guests.screen)):
            self._app.router.add_get(f"{PREFIX}/{word}", self._streaming(open_))

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

    def _streaming(self, open_: _Open) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            # Opened first, so that a refusal comes with its reason whether or not this is a WebSocket.
            with contextlib.closing(await open_(*_instance(request))) as guest:
                client = answering((PLAIN,))
                if not client.can_prepare(request):
                    raise bad_request("this is a WebSocket: an upgrade is required")
                async with self._seats.take(request.path) as leave:
                    await client.prepare(request)
                    why = await pump(client, guest, leave)
            await hang_up(client, request, (WSCloseCode.GOING_AWAY, why))
            return client

        return handle


def _acting(act: _Act) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def handle(request: web.Request) -> web.StreamResponse:
        await act(*_instance(request))
        return web.Response(status=202)

    return handle


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
    except (web.HTTPException, ConnectionResetError):
        raise
    except OSError as error:
        refusal = internal(f"the guest does not answer: {error}")
    except Exception as error:
        log.exception("%s %s failed", request.method, request.path)
        refusal = internal(f"{type(error).__name__}: {error}")
    return web.Response(
        body=msgspec.json.encode(refusal.status()), status=refusal.code, content_type="application/json"
    )
