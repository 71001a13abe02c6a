"""A listening socket for strangers: how many may come in, and what each may cost before they have said who."""

import asyncio
import socket
import ssl
from collections.abc import Mapping
from typing import Any

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from ingot.standalone.http.connection import Connection, Connections, Handle, Patience

# A connection costs about 200 KB, most of it TLS.
MOST_CONNECTIONS = 256
# Nothing is read whole but the forms around a file, which are small.
MOST_BODY = 1 << 20
PATIENCE = Patience(header=10.0, idle=30.0, unread=30.0)
HANDSHAKE_SECONDS = 10.0
# So long is read, and thrown away, what follows a refusal: a client that still sends would not see it otherwise.
LINGER_SECONDS = 2.0
SHUTDOWN_SECONDS = 5.0


class _Visit(Connection):
    """A connection that is not let in when the house is full."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert self._manager is not None
        if len(self._manager.connections) > MOST_CONNECTIONS and isinstance(transport, asyncio.Transport):
            transport.abort()


class Door(Connections):
    """Hands requests to `handler` until `close`, which lets those end that are being answered."""

    def __init__(self, handler: Handle) -> None:
        super().__init__(handler, MOST_BODY, PATIENCE)
        self._listener: asyncio.Server | None = None
        self.port = 0

    def __call__(self) -> RequestHandler:
        options: dict[str, Any] = {"lingering_time": LINGER_SECONDS, **self._kwargs}
        return _Visit(self, PATIENCE, loop=self._loop, **options)

    async def open(self, host: str, port: int, tls: ssl.SSLContext) -> None:
        """Listens for TLS; `port` tells where. Raises OSError when the address cannot be had."""
        self._listener = await asyncio.get_running_loop().create_server(
            self,
            host or None,
            port,
            ssl=tls,
            ssl_handshake_timeout=HANDSHAKE_SECONDS,
            ssl_shutdown_timeout=LINGER_SECONDS,
        )
        self.port = self._listener.sockets[0].getsockname()[1]

    async def open_socket(self, listening: socket.socket) -> None:
        """Listens on a unix socket, without TLS: who comes to that is known."""
        self._listener = await asyncio.get_running_loop().create_unix_server(self, sock=listening)

    async def close(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self.pre_shutdown()
            await self.shutdown(SHUTDOWN_SECONDS)


async def proceed(request: web.BaseRequest) -> None:
    """Tells a client that asks first, as curl does, that its body is welcome."""
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0


def refusal(status: int, text: str, headers: Mapping[str, str] | None = None) -> web.Response:
    """A refusal in plain words, for people at a terminal."""
    return web.Response(status=status, text=f"{text}\n", headers=headers)
