"""The serial consoles of this node's guests: always listened to, so that what a guest said is not lost."""

import asyncio
import contextlib
import logging
import socket
from pathlib import Path

from ingot.host import sockets

log = logging.getLogger(__name__)

# What is kept of each console: a few screens, or the messages of a boot.
BACKLOG = 64 << 10
CHUNK = 16 << 10
# A client that has not read this much is hung up on: the guest must not wait for it, nor our memory grow.
MOST_UNREAD = 1 << 20
RECONNECT_SECONDS = 1.0


class Consoles:
    """Keeps a line to each console. A client that is put through sees first what was said before it came."""

    def __init__(self) -> None:
        self._lines: dict[str, _Line] = {}

    def attend(self, uid: str, path: Path) -> None:
        """Listens to the console of an instance from now on, however often QEMU hangs up."""
        if uid not in self._lines:
            self._lines[uid] = _Line(path)

    def leave(self, uid: str) -> None:
        """Hangs up: the guest is gone."""
        if line := self._lines.pop(uid, None):
            line.close()

    def connect(self, uid: str) -> socket.socket | None:
        """A socket on which the console is heard and spoken to; None when nobody attends it."""
        line = self._lines.get(uid)
        return line.connect() if line else None


class _Line:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._said = bytearray()
        self._guest: asyncio.StreamWriter | None = None
        self._clients: set[asyncio.StreamWriter] = set()
        self._tasks = {asyncio.create_task(self._listen())}

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        for client in self._clients:
            client.transport.abort()

    def connect(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        theirs.setblocking(False)
        task = asyncio.create_task(self._serve(ours))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return theirs

    async def _listen(self) -> None:
        while True:
            with contextlib.suppress(OSError):
                reader, self._guest = await sockets.connect(self._path)
                try:
                    while chunk := await reader.read(CHUNK):
                        self._hear(chunk)
                finally:
                    self._guest.transport.abort()
                    self._guest = None
            await asyncio.sleep(RECONNECT_SECONDS)

    def _hear(self, chunk: bytes) -> None:
        self._said += chunk
        del self._said[:-BACKLOG]
        for client in self._clients:
            if client.transport.get_write_buffer_size() > MOST_UNREAD:
                client.transport.abort()
            else:
                client.write(chunk)

    async def _serve(self, ours: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=ours)
        # Nothing comes between the two: what is said from here on is heard once, and in its order.
        writer.write(bytes(self._said))
        self._clients.add(writer)
        try:
            while spoken := await reader.read(CHUNK):
                if self._guest:
                    self._guest.write(spoken)
                    await self._guest.drain()
        except ConnectionError:
            pass
        finally:
            self._clients.discard(writer)
            writer.transport.abort()
