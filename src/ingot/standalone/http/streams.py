"""WebSocket subresources: streams of bytes between a client and something that runs, such as a console."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from aiohttp import web

from ingot.api.status import bad_request
from ingot.standalone.http.target import Target

# Serves one connected client until either side closes.
Serve = Callable[[web.WebSocketResponse, Target], Awaitable[None]]

MAX_MESSAGE = 1 << 20
HEARTBEAT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Stream:
    """One kind of stream, with the WebSocket subprotocols that it speaks, the preferred one first."""

    protocols: Sequence[str]
    serve: Serve


class Streams:
    """The stream subresources that are served, by group, plural and subresource."""

    def __init__(self) -> None:
        self._streams: dict[tuple[str, str, str], Stream] = {}

    def add(self, group: str, plural: str, subresource: str, stream: Stream) -> None:
        self._streams[group, plural, subresource] = stream

    def find(self, target: Target) -> Stream | None:
        return self._streams.get((target.group, target.plural, target.subresource))


async def connect(request: web.BaseRequest, target: Target, stream: Stream) -> web.StreamResponse:
    """Upgrades the connection and hands it to the stream."""
    if request.headers.get("Upgrade", "").lower() != "websocket":
        raise bad_request("Upgrade request required")
    socket = web.WebSocketResponse(
        protocols=stream.protocols, heartbeat=HEARTBEAT_SECONDS, max_msg_size=MAX_MESSAGE, compress=False
    )
    await socket.prepare(request)
    try:
        await stream.serve(socket, target)
    finally:
        await socket.close()
    return socket
