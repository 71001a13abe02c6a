"""Requests through the proxy that the environment names, plain and in a tunnel."""

from __future__ import annotations

import socket
import ssl
import time
from dataclasses import replace
from pathlib import Path

import pytest
import trustme

from images.servers.faulty import Asked, FaultyServer, RangeHandler, answer
from ingot.images.fault import ImageFault
from ingot.images.registry.settings import Settings
from ingot.images.registry.transport import Transport
from ingot.images.url import open_url

DATA = b"0123456789" * 100
# A name that nobody has: only the proxy can answer for it.
HOST = "registry.invalid"


def test_plain_requests_go_to_the_proxy(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultyServer(RangeHandler(DATA)) as proxy:
        monkeypatch.setenv("http_proxy", f"http://me:secret@{proxy.host}")
        blob = open_url(Transport(settings), f"http://{HOST}/disk?x=1", "Bearer token")
        assert blob.read(5, 10) == DATA[5:15]
        for asked in proxy.asked:
            assert asked.path == f"http://{HOST}/disk?x=1"
            assert asked.headers["host"] == HOST
            assert asked.headers["proxy-authorization"].startswith("Basic ")


def test_tls_goes_through_a_tunnel(settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    authority = trustme.CA()
    (tmp_path / "ca.pem").write_bytes(authority.cert_pem.bytes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(HOST).configure_cert(context)
    inner: list[str] = []

    def handler(asked: Asked, client: socket.socket) -> None:
        client.sendall(b"HTTP/1.1 200 X\r\nVia: x\r\n\r\n")
        with context.wrap_socket(client, server_side=True) as tunnel, tunnel.makefile("rb") as lines:
            while line := lines.readline():
                inner.append(line.decode())
                headers = [line.decode().strip().lower()]
                while headers[-1]:
                    headers.append(lines.readline().decode().strip().lower())
                inner.extend(headers)
                RangeHandler(DATA)(Asked("GET", "/", dict(each.split(": ", 1) for each in headers[1:-1])), tunnel)

    with FaultyServer(handler) as proxy:
        monkeypatch.setenv("https_proxy", f"http://me:secret@{proxy.host}")
        transport = Transport(replace(settings, ca=tmp_path / "ca.pem"))
        assert open_url(transport, f"https://{HOST}/disk", "Bearer token").read(5, 10) == DATA[5:15]
        transport.close()
        (asked,) = proxy.asked
        assert (asked.method, asked.path) == ("CONNECT", f"{HOST}:443")
        assert asked.headers["host"] == f"{HOST}:443"
        assert asked.headers["proxy-authorization"].startswith("Basic ")
        assert f"host: {HOST}" in inner
        # The proxy's credentials are for the proxy, the server's for the server.
        assert "authorization" not in asked.headers
        assert "authorization: bearer token" in inner
        assert not any(line.startswith("proxy-authorization") for line in inner)


def test_a_proxy_whose_name_is_none(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a" * 70, "a..b"):
        monkeypatch.setenv("http_proxy", f"http://{name}:3128")
        with pytest.raises(ImageFault, match="no name of a host") as caught:
            open_url(Transport(settings), f"http://{HOST}/disk")
        assert caught.value.reason == "Unreachable"
        assert not caught.value.retry


def test_a_proxy_that_refuses(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def handler(asked: Asked, client: socket.socket) -> None:
        client.sendall(b"HTTP/1.1 103 X\r\n\r\n")
        answer(client, 407)

    with FaultyServer(handler) as proxy:
        monkeypatch.setenv("https_proxy", f"http://{proxy.host}")
        with pytest.raises(ImageFault, match="407") as caught:
            open_url(Transport(settings), f"https://{HOST}/disk")
        assert caught.value.reason == "Unreachable"


@pytest.mark.parametrize(
    ("pause", "reason"), [(0.05, "TooSlow"), (0.0, "ConnectionLost")], ids=["slow headers", "many headers"]
)
def test_a_proxy_that_does_not_come_to_an_end(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, pause: float, reason: str
) -> None:
    def handler(asked: Asked, client: socket.socket) -> None:
        client.sendall(b"HTTP/1.1 200 X\r\n")
        for _ in range(101):
            if proxy.stopping.wait(pause):
                return
            client.sendall(b"x: y\r\n")
        client.sendall(b"\r\n")
        answer(client, 400)

    with FaultyServer(handler) as proxy:
        monkeypatch.setenv("https_proxy", f"http://{proxy.host}")
        began = time.monotonic()
        with pytest.raises(ImageFault) as caught:
            open_url(Transport(replace(settings, connect=0.3, tries=1)), f"https://{HOST}/disk")
        assert caught.value.reason == reason
        assert time.monotonic() - began < 3
