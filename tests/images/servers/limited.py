"""A proxy in front of a server that makes it slow, and counts what passes."""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
import time
from collections.abc import Iterator

_BLOCK = 1 << 14


class Bucket:
    """`rate` bytes a second for all who take from it together, 0 for no limit; and nothing once all that it may give is
    taken."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._left = math.inf
        self._filled = asyncio.Event()
        self._free_at = 0.0

    def fill(self, count: float) -> None:
        """It gives so many from now on."""
        self._left = count
        self._filled.set()

    async def take(self, count: int) -> None:
        while self._left < count:
            self._filled.clear()
            await self._filled.wait()
        self._left -= count
        if not self.rate:
            return
        now = time.monotonic()
        self._free_at = max(self._free_at, now) + count / self.rate
        await asyncio.sleep(self._free_at - now)


class LimitedProxy:
    """Passes connections on to `port` of loopback: `rate` bytes a second towards the client over all connections, each
    byte `delay` seconds late on its way back. `sent` counts the bytes towards the clients, `received` the others.

    It runs in a thread of its own.
    """

    def __init__(self, port: int, rate: float = 0.0, delay: float = 0.0) -> None:
        self._target = port
        self._bucket = Bucket(rate)
        self._delay = delay
        self.port = 0
        self.sent = 0
        self.received = 0
        self.connections = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="limited-proxy", daemon=True)
        self._ready = threading.Event()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def limit(self, rate: float) -> None:
        """From now on so many bytes a second."""
        self._bucket.rate = rate

    def hold_after(self, count: float) -> None:
        """From now on so many bytes, and none after them until this is called again."""
        self._loop.call_soon_threadsafe(self._bucket.fill, count)

    def __enter__(self) -> LimitedProxy:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self) -> None:
        with contextlib.closing(self._loop):
            self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        async with server:
            await self._stop.wait()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.ensure_future(self._pass(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            there, back = await asyncio.open_connection("127.0.0.1", self._target)
            try:
                up = asyncio.ensure_future(self._up(reader, back))
                try:
                    await self._down(there, writer)
                finally:
                    up.cancel()
                    await asyncio.gather(up, return_exceptions=True)
            finally:
                back.close()
                writer.close()

    async def _up(self, reader: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        while data := await reader.read(_BLOCK):
            self.received += len(data)
            back.write(data)
            await back.drain()
        back.write_eof()

    async def _down(self, there: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Reads at the limit's rate into a queue that is emptied `delay` later: bytes are late, but not fewer."""
        queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(maxsize=4096)
        late = asyncio.ensure_future(self._late(queue, writer))
        try:
            # A client that has gone takes nothing more from the others.
            while not late.done() and (data := await there.read(_BLOCK)):
                await self._bucket.take(len(data))
                await queue.put((time.monotonic() + self._delay, data))
            await queue.put((time.monotonic() + self._delay, b""))
            await late
        finally:
            late.cancel()

    async def _late(self, queue: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter) -> None:
        while True:
            due, data = await queue.get()
            wait = due - time.monotonic()
            if wait > 0:
                await asyncio.sleep(wait)
            if not data:
                return
            self.sent += len(data)
            writer.write(data)
            await writer.drain()


@contextlib.contextmanager
def limited(port: int, rate: float = 0.0, delay: float = 0.0) -> Iterator[LimitedProxy]:
    """A proxy for as long as the block lasts."""
    with LimitedProxy(port, rate, delay) as proxy:
        yield proxy
