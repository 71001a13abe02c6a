"""Connections to servers, perhaps through a proxy, that do not wait for ever."""

import socket
import ssl
from collections.abc import Callable
from http.client import HTTPConnection
from typing import cast

from ingot.images.registry.address import Origin, own
from ingot.images.registry.answer import Answer
from ingot.images.registry.paced import PacedSocket, PacedTlsSocket
from ingot.images.registry.proxy import Proxy

Admit = Callable[[bool], None]


class Connection(HTTPConnection):
    """`admit` is told whether the peer is this machine or on its link, before a word is said to it, and may raise. A
    peer that is a proxy says nothing of where requests go. `near`: what `admit` was told."""

    response_class = Answer

    def __init__(self, origin: Origin, proxy: Proxy | None, timeout: float) -> None:
        super().__init__(origin.host, origin.port, timeout=timeout)
        self.admit: Admit = _anybody
        self.near = False
        self._origin = origin
        self._proxy = proxy
        self._seconds = timeout

    def connect(self) -> None:
        """Raises what `admit` raises, OSError, ssl.SSLError, HTTPException, and UnicodeError for what is no name."""
        peer = self._proxy or self._origin
        plain = socket.create_connection((peer.host, peer.port), self._seconds)
        self.sock: PacedSocket | PacedTlsSocket = PacedSocket.adopt(plain)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.near = not self._proxy and own(self.sock.getpeername()[0])
        self.admit(self.near)


class TlsConnection(Connection):
    """In a tunnel where there is a proxy."""

    default_port = 443

    def __init__(self, origin: Origin, proxy: Proxy | None, timeout: float, context: ssl.SSLContext) -> None:
        super().__init__(origin, proxy, timeout)
        self._context = context

    def connect(self) -> None:
        super().connect()
        if self._proxy:
            self._ask_for_tunnel(self._proxy)
        # For all of the handshake.
        self.sock.settimeout(self._seconds)
        self.sock = cast(PacedTlsSocket, self._context.wrap_socket(self.sock, server_hostname=self._origin.host))

    def _ask_for_tunnel(self, proxy: Proxy) -> None:
        """Raises OSError where the proxy refuses, or does not answer in time."""
        host, port = self._origin.host, self._origin.port
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        headers = {"Host": place} | proxy.headers
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.sock.sendall(f"CONNECT {place} HTTP/1.1\r\n{lines}\r\n".encode("ascii"))
        self.sock.expect(self._seconds)
        with Answer(self.sock, method="CONNECT") as answer:
            answer.begin()
            if not 200 <= answer.status < 300:
                raise OSError(f"its proxy answers {answer.status}")


def _anybody(near: bool) -> None:
    """Admits every peer."""
