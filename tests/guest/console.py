"""A guest's serial console that a test waits on and types at."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import re
from pathlib import Path
from typing import Protocol, Self

from guest.image.build import READY

# Ctrl-C: the shell forgets the line that it was being told.
_BREAK = "\x03"


class Stream(Protocol):
    """The two directions of a console. `read` answers with nothing when it has been closed."""

    async def read(self) -> bytes: ...
    async def write(self, data: bytes) -> None: ...
    async def close(self) -> None: ...


class SocketStream:
    """A console on a unix socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def connect(cls, path: Path) -> Self:
        return cls(*await asyncio.open_unix_connection(path))

    async def read(self) -> bytes:
        return await self._reader.read(65536)

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


class ConsoleTimeout(AssertionError):
    """What was waited for did not come. Tells what came instead."""

    def __init__(self, wanted: str, seconds: float, seen: str) -> None:
        super().__init__(f"the console did not show {wanted!r} in {seconds:g} s; it ends with:\n{seen[-2000:]}")


class GuestCommandFailed(AssertionError):
    """A command in the guest that ended with another code than 0."""

    def __init__(self, command: str, code: int, output: str) -> None:
        super().__init__(f"in the guest, {command!r} ended with {code}: {output}")
        self.command, self.code, self.output = command, code, output


class Console:
    """Reads all that a guest prints, into `text`."""

    def __init__(self, stream: Stream) -> None:
        self.text = ""
        self._stream = stream
        # A console that is opened again shows what was said before: answers of others are not taken for ours.
        self._numbers = itertools.count(random.randrange(10**5) * 1000)  # noqa: S311 - not kept secret
        self._news = asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def connect(cls, path: Path) -> Self:
        return cls(await SocketStream.connect(path))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        # Closed while it is read, a WebSocket waits for the answer to its goodbye: what was typed last has arrived.
        await self._stream.close()
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def until(self, wanted: str, seconds: float = 60.0) -> None:
        """Waits until the console has shown the text, now or before."""
        await self._match(re.compile(re.escape(wanted)), wanted, seconds)

    async def ready(self, seconds: float = 60.0) -> None:
        """Waits until the shell answers. It is asked also when READY has been seen: what was typed while the guest
        booted may have arrived in part, and half a line with an open quote swallows the next."""
        deadline = asyncio.get_running_loop().time() + seconds
        patience = 2.0
        while asyncio.get_running_loop().time() < deadline:
            await self.send(_BREAK)
            with contextlib.suppress(ConsoleTimeout):
                await self.run("true", patience)
                return
            patience *= 1.5
        raise ConsoleTimeout(READY, seconds, self.text)

    async def run(self, command: str, seconds: float = 30.0) -> str:
        """What a command prints in the guest, without the last line's end. Raises GuestCommandFailed."""
        number = next(self._numbers)
        # The shell echoes what is typed: only the quotes tell the echo of a mark from the mark itself.
        line = f'echo "<"{number}; {command}; echo "[$?>"{number}\n'
        await self._stream.write(line.encode())
        answer = re.compile(rf"^<{number}\r?\n(?P<output>.*?)\[(?P<code>\d+)>{number}\r?$", re.DOTALL | re.MULTILINE)
        found = await self._match(answer, command, seconds)
        output = found["output"].replace("\r\n", "\n").removesuffix("\n")
        if found["code"] != "0":
            raise GuestCommandFailed(command, int(found["code"]), output)
        return output

    async def send(self, text: str) -> None:
        """Types, without waiting for an answer."""
        await self._stream.write(text.encode())

    async def _match(self, wanted: re.Pattern[str], name: str, seconds: float) -> re.Match[str]:
        deadline = asyncio.get_running_loop().time() + seconds
        while True:
            self._news.clear()
            found = wanted.search(self.text)
            if found:
                return found
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0 or self._reading.done():
                raise ConsoleTimeout(name, seconds, self.text)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), left)

    async def _read(self) -> None:
        try:
            while data := await self._stream.read():
                self.text += data.decode(errors="replace")
                self._news.set()
        finally:
            self._news.set()
