"""One page over HTTP, for those who watch a server: strangers may connect, and cost no more than a few sockets."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable

from ingot.images.fault import ImageFault
from ingot.serve.listening import tcp

_log = logging.getLogger(__name__)

_PATHS = ("/metrics", "/")
# When there are more connections than this, the oldest one is ended. Each may last so long.
_MOST = 32
_SECONDS = 10.0
_MOST_HEAD = 1 << 14
_RECOVERY_SECONDS = 1.0


@contextlib.asynccontextmanager
async def shown(content: Callable[[], Awaitable[bytes]], kind: str, host: str, port: int) -> AsyncIterator[int]:
    """Answers with the content as it is when it is asked for, of that media type; the port. Raises ImageFault."""
    try:
        listener = tcp(host, port, shared=False).socket
    except OSError as error:
        why = f"it cannot be listened on: {error.strerror}; choose another with --metrics"
        raise ImageFault(f"{host}:{port}", "Taken", why) from error
    page = _Page(content, kind)
    accepting = asyncio.create_task(page.accept(listener))
    try:
        yield listener.getsockname()[1]
    finally:
        accepting.cancel()
        page.close()
        listener.close()


class _Page:
    def __init__(self, content: Callable[[], Awaitable[bytes]], kind: str) -> None:
        self._content = content
        self._kind = kind
        # In the order in which they came.
        self._clients: dict[asyncio.Task[None], None] = {}

    async def accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                client, _ = await loop.sock_accept(listener)
            except OSError as error:
                # There are too many open files, or no memory; it would fail again at once.
                _log.debug("nobody who watches can be accepted: %s", error)
                await asyncio.sleep(_RECOVERY_SECONDS)
                continue
            if len(self._clients) == _MOST:
                oldest = next(iter(self._clients))
                del self._clients[oldest]
                oldest.cancel()
            task = asyncio.create_task(self._converse(client))
            self._clients[task] = None
            task.add_done_callback(lambda ended: self._clients.pop(ended, None))
            # However many come, others get their turn.
            await asyncio.sleep(0)

    def close(self) -> None:
        for task in self._clients:
            task.cancel()

    async def _converse(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError, TimeoutError):
            client.setblocking(False)
            async with asyncio.timeout(_SECONDS):
                head = await _head(client)
                if head is not None:
                    await asyncio.get_running_loop().sock_sendall(client, await self._answer(head))

    async def _answer(self, head: bytes) -> bytes:
        method, _, rest = head.decode("latin-1").partition(" ")
        path = rest.partition(" ")[0].partition("?")[0]
        if method not in ("GET", "HEAD"):
            status, kind, body = "405 Method Not Allowed", "text/plain", b"GET /metrics\n"
        elif path not in _PATHS:
            status, kind, body = "404 Not Found", "text/plain", b"GET /metrics\n"
        else:
            status, kind, body = "200 OK", self._kind, await self._content()
        lines = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        return lines.encode() + (b"" if method == "HEAD" else body)


async def _head(client: socket.socket) -> bytes | None:
    """Up to the empty line; None where there is none."""
    head = b""
    while b"\r\n\r\n" not in head:
        data = await asyncio.get_running_loop().sock_recv(client, _MOST_HEAD - len(head))
        if not data:
            return None
        head += data
    return head
