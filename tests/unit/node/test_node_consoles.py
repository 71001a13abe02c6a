"""Consoles that are always listened to."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ingot.node.consoles import BACKLOG, Consoles


class Guest:
    """QEMU's side of a serial port."""

    def __init__(self) -> None:
        self.writers: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()
        self.heard = asyncio.StreamReader()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.writers.put(writer)
        while data := await reader.read(1024):
            self.heard.feed_data(data)


@contextlib.asynccontextmanager
async def attended(path: Path) -> AsyncIterator[tuple[Consoles, Guest]]:
    guest = Guest()
    server = await asyncio.start_unix_server(guest.serve, path)
    consoles = Consoles()
    consoles.attend("u1", path)
    try:
        yield consoles, guest
    finally:
        consoles.leave("u1")
        server.close()


async def reading(line: socket.socket | None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    assert line is not None
    return await asyncio.open_connection(sock=line)


@pytest.mark.timeout(20)
async def test_who_comes_late_hears_what_was_said_before(tmp_path: Path) -> None:
    async with attended(tmp_path / "s") as (consoles, guest):
        writer = await guest.writers.get()
        writer.write(b"booting\n")
        reader, _ = await reading(consoles.connect("u1"))
        assert await reader.readexactly(8) == b"booting\n"
        writer.write(b"login: ")
        assert await reader.readexactly(7) == b"login: "


@pytest.mark.timeout(20)
async def test_what_is_typed_reaches_the_guest(tmp_path: Path) -> None:
    async with attended(tmp_path / "s") as (consoles, guest):
        await guest.writers.get()
        _, writer = await reading(consoles.connect("u1"))
        writer.write(b"root\n")
        assert await guest.heard.readexactly(5) == b"root\n"


@pytest.mark.timeout(20)
async def test_only_the_end_of_a_long_speech_is_kept(tmp_path: Path) -> None:
    async with attended(tmp_path / "s") as (consoles, guest):
        writer = await guest.writers.get()
        writer.write(b"x" * 3 * BACKLOG + b"end")
        await writer.drain()
        reader, _ = await reading(consoles.connect("u1"))
        heard = b""
        while not heard.endswith(b"end"):
            heard += await reader.read(1 << 20)
        late, _ = await reading(consoles.connect("u1"))
        assert (await late.readexactly(BACKLOG)).endswith(b"end")


@pytest.mark.timeout(20)
async def test_a_line_is_taken_up_again_when_qemu_hangs_up(tmp_path: Path) -> None:
    async with attended(tmp_path / "s") as (consoles, guest):
        (await guest.writers.get()).close()
        again = await guest.writers.get()
        reader, _ = await reading(consoles.connect("u1"))
        again.write(b"back")
        assert await reader.readexactly(4) == b"back"


async def test_nobody_attends_an_unknown_console() -> None:
    assert Consoles().connect("u9") is None
