"""A terminal, or what stands in for one: keys as they are typed, and the way out."""

import asyncio
import contextlib
import os
import sys
import termios
import threading
import tty
from collections.abc import AsyncIterator, Iterator

# Ctrl-], as telnet and virtctl have it.
LEAVE = b"\x1d"
CHUNK = 4096


@contextlib.contextmanager
def raw() -> Iterator[bool]:
    """Hands every key on as it is typed, for the block; whether there is a terminal to do so."""
    if not sys.stdin.isatty():
        yield False
        return
    before = termios.tcgetattr(sys.stdin)
    tty.setraw(sys.stdin)
    try:
        yield True
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


async def typed(interactive: bool) -> AsyncIterator[bytes]:
    """What comes in, until its end or, from a terminal, until Ctrl-]."""
    chunks: asyncio.Queue[bytes] = asyncio.Queue(1)
    loop = asyncio.get_running_loop()
    # A thread that may be left behind: files cannot be waited for, and nobody may ever press another key.
    threading.Thread(target=_read, args=(loop, chunks), daemon=True).start()
    while chunk := await chunks.get():
        before, key, _ = chunk.partition(LEAVE) if interactive else (chunk, b"", b"")
        if before:
            yield before
        if key:
            return


def _read(loop: asyncio.AbstractEventLoop, chunks: asyncio.Queue[bytes]) -> None:
    chunk = b"."
    while chunk:
        try:
            chunk = os.read(0, CHUNK)
        except OSError:
            chunk = b""
        try:
            asyncio.run_coroutine_threadsafe(chunks.put(chunk), loop).result()
        except (RuntimeError, asyncio.CancelledError):
            return


def put(chunk: bytes) -> None:
    """Shows what the guest says, as it is."""
    sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()
