"""Redirects, and servers that are busy."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from images.servers.faulty import Asked, FaultyServer, RangeHandler, answer
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import Descriptor
from ingot.images.registry.settings import Settings
from ingot.images.registry.transport import Request, Transport
from ingot.images.url import open_url

DATA = os.urandom(100_000)
LAYER = Descriptor(media_type="x", digest=Digest.of(DATA), size=len(DATA))


@pytest.fixture
def transport(settings: Settings) -> Iterator[Transport]:
    made = Transport(settings)
    yield made
    made.close()


def test_no_credential_follows_to_another_host(transport: Transport) -> None:
    def redirect(asked: Asked, client: socket.socket) -> None:
        answer(client, 307, location=f"{storage.url}/blob?signature=1")

    with FaultyServer(RangeHandler(DATA)) as storage, FaultyServer(redirect) as front:
        blob = open_url(transport, front.url, "Bearer a-secret")
        assert blob.read(0, 100) == DATA[:100]
        assert all(asked.headers["authorization"] == "Bearer a-secret" for asked in front.asked)
        assert storage.asked
        assert not any("authorization" in asked.headers for asked in storage.asked)


def test_no_credential_comes_back_after_a_visit_elsewhere(transport: Transport) -> None:
    """Whoever was elsewhere comes by an address that a stranger has made."""

    def first(asked: Asked, client: socket.socket) -> None:
        if asked.path == "/back":
            answer(client, 200, b"ok")
        else:
            answer(client, 302, location=f"{other.url}/")

    with (
        FaultyServer(first) as front,
        FaultyServer(lambda asked, client: answer(client, 302, location=f"{front.url}/back")) as other,
    ):
        transport.request(Request("GET", f"{front.url}/", "x", authorization="Basic secret")).discard()
        assert [asked.headers.get("authorization") for asked in front.asked] == ["Basic secret", None]


def test_a_credential_stays_with_its_host(transport: Transport) -> None:
    def handler(asked: Asked, client: socket.socket) -> None:
        if asked.path == "/":
            answer(client, 302, location="/there")
        else:
            answer(client, 200)

    with FaultyServer(handler) as server:
        transport.request(Request("GET", server.url, "x", authorization="Basic secret")).discard()
        assert server.asked[1].headers["authorization"] == "Basic secret"


def test_a_loop_of_redirects_ends(transport: Transport) -> None:
    with FaultyServer(lambda asked, client: answer(client, 302, location="/again")) as server:
        with pytest.raises(ImageFault) as caught:
            open_url(transport, server.url)
        assert caught.value.reason == "BadRedirect"
        assert len(server.asked) < 20


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("file:///etc/passwd", "BadAddress"),
        ("ftp://127.0.0.1/x", "BadAddress"),
        ("gopher://127.0.0.1/x", "BadAddress"),
        ("unix:///run/docker.sock", "BadAddress"),
        ("http://user:password@127.0.0.1/x", "BadAddress"),
        ("http://127.0.0.1:99999/x", "BadAddress"),
        ("http://[::1/x", "BadRedirect"),
        ("http://a b/", "BadAddress"),
        ("http://a..b/", "BadAddress"),
        (f"http://{'a' * 70}.example/", "BadAddress"),
        ("", "BadRedirect"),
        ("http://127.0.0.1/" + "x" * 10_000, "BadAddress"),
    ],
)
def test_redirects_that_are_not_followed(transport: Transport, location: str, reason: str) -> None:
    with FaultyServer(lambda asked, client: answer(client, 302, location=location)) as server:
        with pytest.raises(ImageFault) as caught:
            open_url(transport, server.url)
        assert caught.value.reason == reason
        assert "password" not in str(caught.value)


def test_a_registry_that_sends_to_a_storage_is_asked_once(registry: Registry) -> None:
    expired: list[bool] = []

    def front_handler(asked: Asked, client: socket.socket) -> None:
        answer(client, 307, location=f"{storage.url}/blob?time={len(expired)}")

    def storage_handler(asked: Asked, client: socket.socket) -> None:
        if asked.path == f"/blob?time={len(expired)}":
            serve(asked, client)
        else:
            answer(client, 403)

    serve = RangeHandler(DATA)
    with FaultyServer(storage_handler) as storage, FaultyServer(front_handler) as front:
        blob = registry.blob(Reference.parse(f"{front.host}/a/b"), LAYER)
        for start in range(5):
            assert blob.read(start, 10) == DATA[start : start + 10]
        blobs = [asked for asked in front.asked if "blobs" in asked.path]
        assert len(blobs) == 1
        expired.append(True)
        assert blob.read(50, 10) == DATA[50:60]
        blobs = [asked for asked in front.asked if "blobs" in asked.path]
        assert len(blobs) == 2


@pytest.mark.parametrize("status", [408, 423, 425, 429, 500, 502, 503, 504, 507, 520, 599])
def test_busy_servers_are_asked_again(transport: Transport, status: int) -> None:
    def before(asked: Asked, client: socket.socket) -> bool:
        if asked.number % 3 < 2:
            answer(client, status)
            return True
        return False

    with FaultyServer(RangeHandler(DATA, before=before)) as server:
        blob = open_url(transport, server.url)
        assert blob.read(5, 1000) == DATA[5:1005]
        assert len(server.asked) == 6


def test_a_server_that_stays_busy(transport: Transport) -> None:
    with FaultyServer(lambda asked, client: answer(client, 503)) as server:
        with pytest.raises(ImageFault) as caught:
            open_url(transport, server.url)
        assert caught.value.retry
        assert "503" in caught.value.message
        assert len(server.asked) == 3


def test_retry_after_is_heeded(transport: Transport) -> None:
    times = []

    def before(asked: Asked, client: socket.socket) -> bool:
        times.append(time.monotonic())
        if len(times) == 1:
            answer(client, 429, retry_after=1)
        return len(times) == 1

    with FaultyServer(RangeHandler(DATA, before=before)) as server:
        open_url(transport, server.url)
    assert times[1] - times[0] >= 1


@pytest.mark.parametrize("date", [False, True])
def test_a_server_that_wants_to_be_left_alone_for_long(settings: Settings, date: bool) -> None:
    transport = Transport(replace(settings, longest_wait=5.0))
    after = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True) if date else "3600"
    with FaultyServer(lambda asked, client: answer(client, 429, retry_after=after)) as server:
        with pytest.raises(ImageFault, match=r"asks to wait for 3[56]\d\d s") as caught:
            open_url(transport, server.url)
        assert caught.value.retry
        assert len(server.asked) == 1


@pytest.mark.parametrize("after", ["", "soon", "-5", "1e9", "9" * 500, "Thu, 99 Foo 2099 00:00:00 GMT"])
def test_absurd_waits_are_not_waited_for(settings: Settings, after: str) -> None:
    transport = Transport(replace(settings, longest_wait=5.0))
    with FaultyServer(lambda asked, client: answer(client, 503, retry_after=after)) as server:
        with pytest.raises(ImageFault) as caught:
            open_url(transport, server.url)
        assert caught.value.reason == "Busy"


@pytest.mark.parametrize("status", [409, 501, 505])
def test_what_a_server_will_not_do_later_either_is_asked_once(transport: Transport, status: int) -> None:
    with FaultyServer(lambda asked, client: answer(client, status)) as server:
        assert transport.request(Request("PUT", server.url, "x")).status == status
        assert len(server.asked) == 1


def test_a_refusal_is_final(transport: Transport) -> None:
    body = b'{"errors":[{"code":"DENIED","message":"not\\u001b[31m yours"}]}'
    with FaultyServer(lambda asked, client: answer(client, 403, body)) as server:
        with pytest.raises(ImageFault) as caught:
            open_url(transport, server.url)
        assert caught.value.reason == "Denied"
        assert "DENIED: not" in caught.value.message
        assert "\x1b" not in caught.value.message
        assert len(server.asked) == 1


def test_a_host_that_is_not_known(settings: Settings) -> None:
    with pytest.raises(ImageFault) as caught:
        open_url(Transport(settings), "http://nobody.invalid/x")
    assert caught.value.reason == "Unreachable"


def test_nobody_listens(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as placeholder:
        port = placeholder.getsockname()[1]
    with pytest.raises(ImageFault) as caught:
        open_url(Transport(settings), f"http://127.0.0.1:{port}/x")
    assert caught.value.reason == "Unreachable"
    assert caught.value.retry


@pytest.mark.parametrize(
    "answer_bytes",
    [
        b"garbage\r\n\r\n",
        b"HTTP/1.1 999999 X\r\n\r\n",
        b"HTTP/1.1 200 X\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"HTTP/1.1 200 X\r\nX: " + b"y" * 70_000 + b"\r\n\r\n",
        b"",
    ],
    ids=["garbage", "status", "many", "long", "nothing"],
)
def test_what_is_no_http(transport: Transport, answer_bytes: bytes) -> None:
    def handler(asked: Asked, client: socket.socket) -> None:
        client.sendall(answer_bytes)
        client.shutdown(socket.SHUT_RDWR)

    with FaultyServer(handler) as server, pytest.raises(ImageFault) as caught:
        open_url(transport, server.url)
    assert caught.value.reason == "ConnectionLost"


@pytest.mark.parametrize("status", [100, 103])
@pytest.mark.parametrize(("pause", "reason"), [(0.0, "ConnectionLost"), (0.05, "TooSlow")], ids=["many", "slow"])
def test_endless_interim_answers_are_given_up(status: int, pause: float, reason: str) -> None:
    def handler(asked: Asked, client: socket.socket) -> None:
        for _ in range(100):
            if server.stopping.wait(pause):
                return
            client.sendall(f"HTTP/1.1 {status} X\r\n\r\n".encode())
        answer(client, 200)

    transport = Transport(Settings(patience=0.3, tries=1))
    with FaultyServer(handler) as server, pytest.raises(ImageFault) as caught:
        open_url(transport, server.url)
    assert caught.value.reason == reason
