"""Connections: those who send half a request, nothing, too much, or do not read, are hung up on."""

import asyncio
import gzip
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
from aiohttp import web

from ingot.api.status import ApiError
from ingot.standalone.http import answers
from ingot.standalone.http.answers import refusal
from ingot.standalone.http.connection import MAX_FIELDS, MAX_HEADER, Connection, Connections, Patience
from ingot.standalone.http.verbs import MAX_BODY, read_body

SHORT = 0.1
LONG = 30.0
SIZE = 64 << 20
PLENTY = Patience(LONG, LONG, LONG)
REQUEST = b"GET /long HTTP/1.1\r\nHost: a\r\n\r\n"

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def handle(request: web.BaseRequest) -> web.StreamResponse:
    if request.path == "/big":
        return answers.answer(b"x" * SIZE)
    if request.path == "/watch":
        response = web.StreamResponse()
        await response.prepare(request)
        await asyncio.sleep(5 * SHORT)
        await response.write(b"event")
        return response
    try:
        return answers.answer(b"%d %d" % (len(await read_body(request, SHORT)), len(request.path_qs)))
    except ApiError as error:
        return refusal(error)


@asynccontextmanager
async def connected(patience: Patience) -> AsyncIterator[Ends]:
    runner = web.ServerRunner(Connections(handle, MAX_BODY, patience), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    reader, writer = await asyncio.open_connection(*runner.addresses[0][:2], limit=1 << 16)
    try:
        async with asyncio.timeout(LONG / 2):
            yield reader, writer
    finally:
        writer.close()
        await runner.cleanup()


async def rest(reader: asyncio.StreamReader) -> int:
    """How many bytes come until the connection ends, however it does."""
    count = 0
    with suppress(ConnectionError):
        while part := await reader.read(1 << 16):
            count += len(part)
    return count


@pytest.mark.parametrize("sent", [b"", b"GET", b"GET / HTTP/1.1\r\nHost: a\r\nX-A: "])
async def test_half_a_request_and_none_at_all_have_their_time(sent: bytes) -> None:
    patience = Patience(LONG, SHORT, LONG) if not sent else Patience(SHORT, LONG, LONG)
    async with connected(patience) as (reader, writer):
        writer.write(sent)
        assert await reader.read() == b""


class Hasty(Connection):
    """Has its first bytes before the task that waits for requests runs, as may be after a handshake."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.data_received(b"GET / HTTP/1.1\r\nX-A: ")


async def test_bytes_that_come_with_the_connection_have_their_time_too() -> None:
    loop = asyncio.get_running_loop()
    manager, patience = Connections(handle, MAX_BODY), Patience(SHORT, LONG, LONG)
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    await loop.connect_accepted_socket(lambda: Hasty(manager, patience, loop=loop, access_log=None), ours)
    async with asyncio.timeout(LONG / 2):
        assert await loop.sock_recv(theirs, 1) == b""
    theirs.close()


async def test_a_connection_that_idles_after_an_answer_is_closed() -> None:
    async with connected(Patience(LONG, SHORT, LONG)) as (reader, writer):
        writer.write(REQUEST)
        assert (await reader.read()).endswith(b"0 5")


async def test_headers_that_come_slowly_but_in_time_are_read() -> None:
    async with connected(PLENTY) as (reader, writer):
        for part in (REQUEST[:5], REQUEST[5:20], REQUEST[20:]):
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0)
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"


async def test_a_body_that_does_not_come_is_told_so() -> None:
    async with connected(PLENTY) as (reader, writer):
        writer.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf")
        assert await reader.readline() == b"HTTP/1.1 504 Gateway Timeout\r\n"
        assert b"did not complete within the allotted timeout" in await reader.readuntil(b'"code":504}')


async def test_a_watch_may_be_silent() -> None:
    async with connected(Patience(SHORT, SHORT, SHORT)) as (reader, writer):
        writer.write(b"GET /watch HTTP/1.1\r\nHost: a\r\n\r\n")
        assert b"event" in await reader.readuntil(b"event")


async def test_a_client_that_does_not_read_is_hung_up_on() -> None:
    async with connected(Patience(LONG, LONG, SHORT)) as (reader, writer):
        writer.write(b"GET /big HTTP/1.1\r\nHost: a\r\n\r\n")
        await reader.readline()
        # What the client's own buffers have taken ends, long before the answer would.
        await asyncio.sleep(5 * SHORT)
        assert await rest(reader) < SIZE


async def test_a_target_of_most_of_a_megabyte_is_read() -> None:
    size = MAX_HEADER - 1000
    async with connected(PLENTY) as (reader, writer):
        writer.write(b"GET /" + b"x" * size + b" HTTP/1.1\r\nHost: a\r\n\r\n")
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        assert (await reader.readuntil(b" %d" % (size + 1))).endswith(b"0 %d" % (size + 1))


@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + b"x" * (MAX_HEADER + 1000),
        b"GET / HTTP/1.1\r\nHost: a\r\nX-A: " + b"x" * (MAX_HEADER + 1000),
        b"GET / HTTP/1.1\r\nHost: a\r\n" + b"".join(b"X-%d: %b\r\n" % (n, b"x" * 100_000) for n in range(20)),
    ],
    ids=["target", "one header", "all headers"],
)
async def test_more_than_a_megabyte_of_headers_is_refused(head: bytes) -> None:
    async with connected(PLENTY) as (reader, writer):
        writer.write(head)
        assert (await reader.readline()).endswith(b" 431 Request Header Fields Too Large\r\n")


@pytest.mark.parametrize("sent", [b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\n" + b"A:\r\n" * (MAX_FIELDS + 1)])
async def test_what_is_no_request_is_refused_and_not_logged(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async with connected(PLENTY) as (reader, writer):
        writer.write(sent)
        answer = await reader.read()
        assert b" 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n" in answer
        assert answer.endswith(b"\r\n\r\n400 Bad Request")
    assert not caplog.records


async def test_requests_behind_a_running_one_are_counted_too() -> None:
    async with connected(PLENTY) as (reader, writer):
        writer.write(b"GET /watch HTTP/1.1\r\nHost: a\r\n\r\n")
        await reader.readline()
        lines = b"".join(b"X-%d: %b\r\n" % (n, b"x" * 100_000) for n in range(20))
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n" + lines)
        began = asyncio.get_running_loop().time()
        await rest(reader)
        assert asyncio.get_running_loop().time() - began < 4 * SHORT, "the watch went on"


async def test_bodies_are_not_headers() -> None:
    body = b"x" * (MAX_HEADER + (1 << 19))
    async with connected(PLENTY) as (reader, writer):
        for _ in range(2):
            writer.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
            await reader.readuntil(b"%d 1" % len(body))


async def test_a_body_is_as_long_as_it_is_sent_whatever_its_encoding() -> None:
    """Nothing is unpacked for whom nobody knows yet: eight bytes or a bomb."""
    packed = gzip.compress(bytes(1 << 20))
    async with connected(PLENTY) as (reader, writer):
        head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
        writer.write(head % len(packed) + packed)
        assert (await reader.readuntil(b"%d 1" % len(packed))).startswith(b"HTTP/1.1 200 OK\r\n")
