"""The pump between a client's WebSocket and a guest's socket: a serial console, or a screen."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

from aiohttp import WSMsgType, web

from ingot.kube.tunnel import GOODBYE_SECONDS

# How much is taken from the guest at once. Who reads slowly slows down the one who writes, so that no more is ever
# held than this and the buffers of two sockets.
CHUNK = 32 << 10
TAKEN_OVER = b"another client has connected"
GUEST_GONE = b"the guest has hung up"


class Seats:
    """One seat at each console and each screen. Who comes later gets it, and the one before is sent away."""

    def __init__(self) -> None:
        self._seats: dict[str, _Seat] = {}

    @contextlib.asynccontextmanager
    async def take(self, place: str) -> AsyncIterator[asyncio.Event]:
        """The seat at a place, once the one before has left it; the event says when to leave it."""
        seat, before = _Seat(), self._seats.get(place)
        self._seats[place] = seat
        try:
            if before:
                before.leave.set()
                await before.left.wait()
            yield seat.leave
        finally:
            seat.left.set()
            if self._seats[place] is seat:
                del self._seats[place]


class _Seat:
    def __init__(self) -> None:
        self.leave = asyncio.Event()
        self.left = asyncio.Event()


async def pump(client: web.WebSocketResponse, guest: socket.socket, leave: asyncio.Event) -> bytes:
    """Carries bytes both ways until one side hangs up or the client is sent away; says to the client why.

    The client is not closed yet, the guest's socket is.
    """
    reader, writer = await asyncio.open_connection(sock=guest)
    try:
        await _carry(client, reader, writer, leave)
        await _deliver(reader, writer)
    finally:
        writer.transport.abort()
    return TAKEN_OVER if leave.is_set() else GUEST_GONE


async def _carry(
    client: web.WebSocketResponse, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, leave: asyncio.Event
) -> None:
    sides = [
        asyncio.create_task(_to_client(reader, client)),
        asyncio.create_task(_to_guest(client, writer)),
        asyncio.create_task(leave.wait()),
    ]
    try:
        await asyncio.wait(sides, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for side in sides:
            side.cancel()
        await asyncio.gather(*sides, return_exceptions=True)


async def _deliver(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Hangs up on the guest once it has taken what it was told. A socket that is closed under one who is just writing
    to it loses what that one has not read."""
    with contextlib.suppress(OSError, TimeoutError):
        writer.write_eof()
        async with asyncio.timeout(GOODBYE_SECONDS):
            while await reader.read(CHUNK):
                pass


async def _to_client(reader: asyncio.StreamReader, client: web.WebSocketResponse) -> None:
    with contextlib.suppress(ConnectionError):
        while chunk := await reader.read(CHUNK):
            await client.send_bytes(chunk)


async def _to_guest(client: web.WebSocketResponse, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        async for message in client:
            if message.type in (WSMsgType.BINARY, WSMsgType.TEXT):
                writer.write(message.data if message.type is WSMsgType.BINARY else message.data.encode())
                await writer.drain()
