"""Answers whose frame is odd or hostile: chunks, trailers, and what comes before them."""

from __future__ import annotations

import http.client
import inspect
import socket
import time
from collections.abc import Iterator

import pytest

from images.servers.faulty import Asked, FaultyServer, RangeHandler
from ingot.images.blob import Blob
from ingot.images.fault import ImageFault
from ingot.images.http_blob import HttpBlob
from ingot.images.registry import answer as answer_module
from ingot.images.registry import response as response_module
from ingot.images.registry.answer import Answer
from ingot.images.registry.settings import Settings
from ingot.images.registry.transport import Request, Transport
from ingot.images.url import open_url

DATA = b"0123456789" * 1000
CHUNKED = b"HTTP/1.1 %d X\r\nTransfer-Encoding: chunked\r\n\r\n"
BODY = CHUNKED % 200 + b"%x\r\n%b\r\n" % (len(DATA), DATA)
SOON = 0.2


@pytest.fixture
def transport(monkeypatch: pytest.MonkeyPatch) -> Iterator[Transport]:
    """One that waits for ends as briefly as tests like it."""
    monkeypatch.setattr(answer_module, "_TRAILER_SECONDS", SOON)
    monkeypatch.setattr(response_module, "_END_SECONDS", SOON)
    made = Transport(Settings(tries=1, patience=5.0))
    yield made
    made.close()


def of_known_size(transport: Transport, server: FaultyServer) -> HttpBlob:
    request = Request("GET", server.url, "the layer")
    return HttpBlob(lambda headers: transport.once(request), "the layer", len(DATA), transport.settings, fixed=True)


def whole(blob: Blob) -> bytes:
    found, buffer = bytearray(), memoryview(bytearray(3000))
    with blob.stream() as stream:
        while count := stream.readinto(buffer):
            found += buffer[:count]
    return bytes(found)


def repeat(server: FaultyServer, client: socket.socket, data: bytes) -> None:
    """For three seconds, which is not for ever, and then ends as one should."""
    for _ in range(60):
        if server.stopping.wait(0.05):
            return
        client.sendall(data)
    client.shutdown(socket.SHUT_RDWR)


def test_http_client_still_has_what_is_overridden() -> None:
    ours = [name for name, value in vars(Answer).items() if inspect.isfunction(value)]
    assert "_read_next_chunk_size" in ours
    for name in ours:
        assert inspect.isfunction(getattr(http.client.HTTPResponse, name, None)), name


def test_a_chunk_of_less_than_nothing_is_not_everything(transport: Transport) -> None:
    sent = 0

    def handler(asked: Asked, client: socket.socket) -> None:
        nonlocal sent
        client.sendall(CHUNKED % 200 + b"-1\r\n")
        for _ in range(64):
            client.sendall(bytes(1 << 20))
            sent += 1
        client.shutdown(socket.SHUT_RDWR)

    with FaultyServer(handler) as server:
        with pytest.raises(ImageFault) as caught:
            transport.once(Request("GET", server.url, "x")).document(1000)
        assert caught.value.reason == "ConnectionLost"
    assert sent < 64


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_that_has_no_body_has_no_chunks(transport: Transport, status: int) -> None:
    with FaultyServer(lambda asked, client: client.sendall(CHUNKED % status + b"5\r\nhello\r\n0\r\n\r\n")) as server:
        assert transport.once(Request("GET", server.url, "x")).document(2) == b""


def test_a_short_trailer_is_no_fault(transport: Transport) -> None:
    def handler(asked: Asked, client: socket.socket) -> None:
        client.sendall(BODY + b"0\r\nX-Checksum: 1\r\nX-Other: 2\r\n\r\n")

    with FaultyServer(handler) as server:
        assert whole(open_url(transport, server.url)) == DATA
        assert whole(of_known_size(transport, server)) == DATA


def test_a_long_trailer_is_refused(transport: Transport) -> None:
    def handler(asked: Asked, client: socket.socket) -> None:
        client.sendall(BODY + b"0\r\n" + b"a: b\r\n" * 101 + b"\r\n")

    with FaultyServer(handler) as server, pytest.raises(ImageFault) as caught:
        whole(open_url(transport, server.url))
    assert caught.value.reason == "ConnectionLost"


def test_a_slow_trailer_is_not_waited_for(transport: Transport) -> None:
    def handler(asked: Asked, client: socket.socket) -> None:
        client.sendall(BODY + b"0\r\n")
        repeat(server, client, b"a: " + b"b" * 4000 + b"\r\n")

    with FaultyServer(handler) as server:
        blob = open_url(transport, server.url)
        began = time.monotonic()
        with pytest.raises(ImageFault) as caught:
            whole(blob)
        assert caught.value.reason == "TooSlow"
        assert time.monotonic() - began < 2


@pytest.mark.parametrize("end", [b"0\r\n", b""], ids=["trailer", "size"])
def test_what_comes_behind_a_known_size_is_not_waited_for(transport: Transport, end: bytes) -> None:
    def handler(asked: Asked, client: socket.socket) -> None:
        client.sendall(BODY + end)
        repeat(server, client, b"0" * 1000)

    with FaultyServer(handler) as server:
        began = time.monotonic()
        assert whole(of_known_size(transport, server)) == DATA
        assert time.monotonic() - began < 2


@pytest.mark.parametrize("status", [100, 102, 103])
def test_what_comes_before_the_answer_is_skipped(transport: Transport, status: int) -> None:
    hint = f"HTTP/1.1 {status} Early\r\nLink: </style.css>; rel=preload\r\n\r\n".encode()

    def hinting(asked: Asked, client: socket.socket) -> bool:
        client.sendall(hint + hint)
        return False

    with FaultyServer(RangeHandler(DATA, before=hinting)) as server:
        blob = open_url(transport, server.url)
        assert blob.read(5, 100) == DATA[5:105]
        assert whole(blob) == DATA
