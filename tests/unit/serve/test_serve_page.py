"""The page with the figures of a server, and those who ask for it badly."""

import asyncio
import contextlib
import socket

import pytest

from ingot.images.fault import ImageFault
from ingot.serve import page


async def _content() -> bytes:
    return b"figures 1\n"


async def _ask(port: int, said: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(said)
    found = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    return found


@pytest.mark.parametrize(
    ("said", "status", "body"),
    [
        (b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", b"200 OK", b"figures 1\n"),
        (b"GET /?x HTTP/1.1\r\n\r\n", b"200 OK", b"figures 1\n"),
        (b"HEAD /metrics HTTP/1.1\r\n\r\n", b"200 OK", b""),
        (b"GET /secrets HTTP/1.1\r\n\r\n", b"404 Not Found", b"GET /metrics\n"),
        (b"DELETE /metrics HTTP/1.1\r\n\r\n", b"405 Method Not Allowed", b"GET /metrics\n"),
        (b"\xff\0\r\n\r\n", b"405 Method Not Allowed", b"GET /metrics\n"),
    ],
)
async def test_answers(said: bytes, status: bytes, body: bytes) -> None:
    async with page.shown(_content, "text/plain", "127.0.0.1", 0) as port:
        head, _, found = (await _ask(port, said)).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 " + status)
    assert found == body


async def test_a_head_without_end_is_not_answered() -> None:
    async with page.shown(_content, "text/plain", "127.0.0.1", 0) as port:
        with contextlib.suppress(ConnectionError):
            assert await _ask(port, b"x" * (1 << 16)) == b""


async def test_those_who_say_nothing_make_room_and_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "_SECONDS", 0.5)
    async with page.shown(_content, "text/plain", "127.0.0.1", 0) as port:
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(120)]
        assert b"figures 1" in await _ask(port, b"GET /metrics HTTP/1.1\r\n\r\n")
        for reader, writer in idle:
            assert await asyncio.wait_for(reader.read(), 10) == b""
            writer.close()


async def test_a_taken_port_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(ImageFault, match="choose another"):
        async with page.shown(_content, "text/plain", "127.0.0.1", taken.getsockname()[1]):
            pass
