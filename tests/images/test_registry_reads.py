"""Blobs behind servers that break, lie, change or are slow."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from functools import partial

import pytest

from images.servers.faulty import Asked, FaultyServer, RangeHandler, answer
from ingot.images.blob import Blob, ByteStream
from ingot.images.fault import ImageFault
from ingot.images.http_blob import HttpBlob
from ingot.images.registry.settings import Settings
from ingot.images.registry.transport import Transport
from ingot.images.url import open_url

DATA = os.urandom(300_000)


@pytest.fixture
def transport(settings: Settings) -> Iterator[Transport]:
    made = Transport(settings)
    yield made
    made.close()


def whole(blob: Blob, start: int = 0) -> bytes:
    """What its stream gives."""
    found = bytearray()
    buffer = memoryview(bytearray(50_000))
    with blob.stream(start) as stream:
        while count := stream.readinto(buffer):
            found += buffer[:count]
        assert stream.position == blob.size
    return bytes(found)


def _some(stream: ByteStream) -> bytes:
    buffer = bytearray(50_000)
    return bytes(buffer[: stream.readinto(memoryview(buffer))])


def cut(client: socket.socket) -> None:
    # Only the sending side: with both closed, what is under way may be thrown away by a reset.
    client.shutdown(socket.SHUT_WR)


def test_a_file_behind_a_url_is_read_by_ranges_and_whole(transport: Transport) -> None:
    with FaultyServer(RangeHandler(DATA)) as server:
        blob = open_url(transport, f"{server.url}/disk.raw?signature=secret")
        assert blob.ranged
        assert blob.size == len(DATA)
        assert blob.read(1000, 70_000) == DATA[1000:71_000]
        assert whole(blob) == DATA
        assert whole(blob, 12_345) == DATA[12_345:]
        assert "secret" not in blob.subject


def test_connections_are_used_again(transport: Transport) -> None:
    clients = set()

    def note(asked: Asked, client: socket.socket) -> bool:
        clients.add(client.getpeername())
        return False

    with FaultyServer(RangeHandler(DATA, before=note)) as server:
        blob = open_url(transport, server.url)
        for start in range(10):
            blob.read(start, 100_000)
        assert whole(blob) == DATA
    assert len(clients) == 1


def test_a_connection_closed_while_idle_is_no_fault(transport: Transport) -> None:
    serve = RangeHandler(DATA)

    def handler(asked: Asked, client: socket.socket) -> None:
        serve(asked, client)
        cut(client)

    with FaultyServer(handler) as server:
        blob = open_url(transport, server.url)
        for start in range(5):
            assert blob.read(start, 10) == DATA[start : start + 10]


def test_a_broken_range_goes_on_where_it_broke(transport: Transport) -> None:
    def before(asked: Asked, client: socket.socket) -> bool:
        if asked.range is None or asked.range[1] == 0:
            return False
        first, last = asked.range
        stop = min(first + 100_000, last + 1)
        fields: dict[str, str | int] = {
            "content_length": last + 1 - first,
            "content_range": f"bytes {first}-{last}/{len(DATA)}",
        }
        answer(client, 206, DATA[first:stop], etag='"one"', **fields)
        if stop <= last:
            cut(client)
        return True

    with FaultyServer(RangeHandler(DATA, before=before)) as server:
        blob = open_url(transport, server.url)
        assert blob.read(0, len(DATA)) == DATA
        starts = [asked.range[0] for asked in server.asked if asked.range and asked.range[1]]
        assert starts == [0, 100_000, 200_000]


def test_a_broken_stream_goes_on_where_it_broke(transport: Transport) -> None:
    def before(asked: Asked, client: socket.socket) -> bool:
        first, last = asked.range or (0, len(DATA) - 1)
        if last == 0 or first >= 200_000:
            return False
        status, extra = (206, {"content_range": f"bytes {first}-{last}/{len(DATA)}"}) if asked.range else (200, {})
        answer(client, status, DATA[first : first + 90_000], content_length=last + 1 - first, etag='"one"', **extra)
        cut(client)
        return True

    with FaultyServer(RangeHandler(DATA, before=before)) as server:
        assert whole(open_url(transport, server.url)) == DATA


@pytest.mark.parametrize("validator", [{"etag": '"one"'}, {}])
def test_without_ranges_a_stream_starts_again_where_it_can_know_the_content(
    transport: Transport, validator: dict[str, str]
) -> None:
    broken: list[Asked] = []

    def handler(asked: Asked, client: socket.socket) -> None:
        if asked.range or broken:
            answer(client, 200, DATA, **validator)
        else:
            broken.append(asked)
            answer(client, 200, DATA[:123_456], content_length=len(DATA), **validator)
            cut(client)

    with FaultyServer(handler) as server:
        blob = open_url(transport, server.url)
        assert not blob.ranged
        if validator:
            assert whole(blob) == DATA
        else:
            with pytest.raises(ImageFault, match="neither an ETag") as caught:
                whole(blob)
            assert caught.value.retry


def test_a_server_that_answers_a_range_with_everything(transport: Transport, settings: Settings) -> None:
    with FaultyServer(lambda asked, client: answer(client, 200, DATA)) as server:
        blob = open_url(transport, server.url)
        assert not blob.ranged
        with pytest.raises(ImageFault) as caught:
            blob.read(5, 10)
        assert caught.value.reason == "NoRanges"
        assert whole(blob) == DATA
        assert whole(blob, 0) == DATA


def test_a_length_that_is_too_long_is_a_truncated_blob(transport: Transport) -> None:
    def handler(asked: Asked, client: socket.socket) -> None:
        if asked.range == (0, 0):
            answer(client, 206, DATA[:1], content_range=f"bytes 0-0/{len(DATA)}", etag='"one"')
        elif asked.range:
            first, last = asked.range
            fields: dict[str, str | int] = {
                "content_length": last + 1 - first,
                "content_range": f"bytes {first}-{last}/{len(DATA)}",
            }
            answer(client, 206, DATA[first:1000], etag='"one"', **fields)
            cut(client)
        else:
            answer(client, 200, DATA[:1000], content_length=len(DATA), etag='"one"')
            cut(client)

    with FaultyServer(handler) as server:
        blob = open_url(transport, server.url)
        for read in (partial(blob.read, 0, len(DATA)), partial(whole, blob)):
            with pytest.raises(ImageFault) as caught:
                read()
            assert caught.value.reason == "Truncated"


def test_a_length_that_is_too_short_or_unlike_the_size_is_refused(transport: Transport, settings: Settings) -> None:
    def handler(asked: Asked, client: socket.socket) -> None:
        if asked.range:
            first, last = asked.range
            answer(client, 206, DATA[first:last], content_range=f"bytes {first}-{last}/{len(DATA)}")
        else:
            answer(client, 200, DATA[:-1])

    with FaultyServer(handler) as server:
        blob = plain_blob(transport, server, len(DATA))
        for read in (partial(blob.read, 10, 100), partial(whole, blob)):
            with pytest.raises(ImageFault) as caught:
                read()
            assert caught.value.reason == "WrongLength"


def plain_blob(transport: Transport, server: FaultyServer, size: int) -> HttpBlob:
    """A blob of a size that is known from elsewhere, as that of a layer."""
    from ingot.images.registry.transport import Request

    return HttpBlob(
        lambda headers: transport.once(Request("GET", server.url, "the layer", headers)),
        "the layer",
        size,
        transport.settings,
        fixed=True,
    )


def test_a_body_without_length_that_does_not_end_is_refused(transport: Transport) -> None:
    def handler(asked: Asked, client: socket.socket) -> None:
        client.sendall(b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            client.sendall(b"1000\r\n" + b"x" * 4096 + b"\r\n")

    with FaultyServer(handler) as server:
        with pytest.raises(ImageFault) as caught:
            whole(plain_blob(transport, server, 100_000))
        assert caught.value.reason == "WrongLength"


@pytest.mark.parametrize(
    "stated",
    ["bytes 1-100/300000", "bytes 0-98/300000", "bytes 0-99/299999", "bytes */300000", "items 0-99/300000", ""],
)
def test_another_range_than_was_asked_for_is_refused(transport: Transport, stated: str) -> None:
    def handler(asked: Asked, client: socket.socket) -> None:
        answer(client, 206, DATA[:100], content_range=stated)

    with FaultyServer(handler) as server:
        with pytest.raises(ImageFault) as caught:
            plain_blob(transport, server, len(DATA)).read(0, 100)
        assert caught.value.reason in ("BadRange", "WrongLength")
        assert len(server.asked) == 1


@pytest.mark.parametrize("honest", [True, False])
def test_content_that_changes_between_ranges_is_noticed(transport: Transport, honest: bool) -> None:
    """A server that takes no notice of If-Range still tells the new ETag."""
    handler = RangeHandler(DATA)

    def dishonest(asked: Asked, client: socket.socket) -> None:
        asked.headers["if-range"] = handler.etag
        handler(asked, client)

    with FaultyServer(handler if honest else dishonest) as server:
        blob = open_url(transport, server.url)
        blob.read(0, 100)
        handler.data, handler.etag = os.urandom(len(DATA)), '"two"'
        for read in (partial(blob.read, 100, 100), partial(whole, blob), partial(whole, blob, 10)):
            with pytest.raises(ImageFault) as caught:
                read()
            assert caught.value.reason == "Changed"


def test_a_server_that_tells_no_end_is_refused(transport: Transport) -> None:
    def handler(asked: Asked, client: socket.socket) -> None:
        client.sendall(b"HTTP/1.0 200 X\r\n\r\n" + DATA)
        client.shutdown(socket.SHUT_RDWR)

    with FaultyServer(handler) as server, pytest.raises(ImageFault) as caught:
        open_url(transport, server.url)
    assert caught.value.reason == "NoLength"


def test_a_server_without_a_length_is_read_from_the_start_only(transport: Transport) -> None:
    def handler(asked: Asked, client: socket.socket) -> None:
        head = b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n"
        client.sendall(head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(DATA), DATA))

    with FaultyServer(handler) as server:
        blob = open_url(transport, server.url)
        assert (blob.size, blob.ranged) == (0, False)
        with blob.stream() as stream:
            assert b"".join(iter(lambda: _some(stream), b"")) == DATA
        with pytest.raises(ImageFault) as caught:
            blob.read(0, 1)
    assert caught.value.reason == "NoRanges"


def test_an_empty_file(transport: Transport) -> None:
    with FaultyServer(lambda asked, client: answer(client, 416, content_range="bytes */0")) as server:
        blob = open_url(transport, server.url)
        assert blob.size == 0
        assert whole(blob) == b""


def drip(server: FaultyServer, client: socket.socket, data: bytes) -> None:
    """One byte at a time, each before anybody's patience with silence is over."""
    for byte in data:
        if server.stopping.wait(0.05):
            return
        client.sendall(bytes([byte]))


@pytest.mark.parametrize("part", ["headers", "body", "range"])
def test_a_slow_loris_is_given_up(part: str) -> None:
    def handler(asked: Asked, client: socket.socket) -> None:
        if part == "headers":
            drip(server, client, b"HTTP/1.1 200 X\r\n" + b"X-Y: z\r\n" * 1000)
        elif part == "range" and asked.range:
            first, last = asked.range
            client.sendall(
                f"HTTP/1.1 206 X\r\nContent-Length: {last + 1 - first}\r\n"
                f"Content-Range: bytes {first}-{last}/{len(DATA)}\r\n\r\n".encode()
            )
            drip(server, client, DATA)
        else:
            client.sendall(f"HTTP/1.1 200 X\r\nContent-Length: {len(DATA)}\r\n\r\n".encode())
            drip(server, client, DATA)

    transport = Transport(Settings(patience=0.4, tries=2, backoff=0.01))
    with FaultyServer(handler) as server:
        blob = plain_blob(transport, server, len(DATA))
        began = time.monotonic()
        with pytest.raises(ImageFault) as caught:
            blob.read(10, 1000) if part == "range" else whole(blob)
        assert caught.value.reason == "TooSlow"
        assert time.monotonic() - began < 5


def test_a_slow_reader_is_no_slow_server(settings: Settings) -> None:
    """Only the time in which we wait counts against a server."""
    transport = Transport(Settings(patience=0.2, tries=1))
    with FaultyServer(RangeHandler(DATA)) as server, open_url(transport, server.url).stream() as stream:
        buffer = memoryview(bytearray(1000))
        stream.readinto(buffer)
        time.sleep(0.5)
        assert stream.readinto(buffer) == 1000
