"""A web server that does what it is told, however wrong: a test writes its answers byte by byte."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

_TLS = b"\x16"


@dataclass(slots=True)
class Asked:
    """A request as it came; the names of headers in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""
    number: int = 0

    @property
    def range(self) -> tuple[int, int] | None:
        """First and last byte."""
        text = self.headers.get("range", "").removeprefix("bytes=")
        first, _, last = text.partition("-")
        return (int(first), int(last)) if last else None


Handler = Callable[[Asked, socket.socket], None]


class FaultyServer:
    """Calls `handler` for each request, which writes to the socket. The connection stays open unless it closes it.

    `asked`: all requests so far. `stopping` is set at the end, for handlers that wait. It is at an `address` of
    loopback.
    """

    def __init__(self, handler: Handler, address: str = "127.0.0.1") -> None:
        self._handler = handler
        self._address = address
        self.asked: list[Asked] = []
        self.stopping = threading.Event()
        self._listener = socket.create_server((address, 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []

    @property
    def host(self) -> str:
        return f"{self._address}:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}"

    def __enter__(self) -> FaultyServer:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for client in list(self._open):
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._open.add(client)
            self._start(self._talk, client)

    def _talk(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError), client.makefile("rb") as lines:
            # A client that tries TLS first is told at once that there is none, as web servers do.
            if client.recv(1, socket.MSG_PEEK) == _TLS:
                client.recv(1 << 16)
                answer(client, 400)
                return
            while line := lines.readline():
                method, path, _ = line.decode().split(" ", 2)
                headers = {}
                while header := lines.readline().strip():
                    name, _, value = header.decode().partition(":")
                    headers[name.lower()] = value.strip()
                body = lines.read(int(headers.get("content-length", 0)))
                asked = Asked(method, path, headers, body, len(self.asked))
                self.asked.append(asked)
                self._handler(asked, client)


def answer(client: socket.socket, status: int, body: bytes = b"", **headers: str | int) -> None:
    """A whole answer; `content_length=…` and others overrule what would be right."""
    given = {name.replace("_", "-").title(): str(value) for name, value in headers.items()}
    lines = {"Content-Length": str(len(body))} | given
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value)
    client.sendall(f"HTTP/1.1 {status} X\r\n{head}\r\n".encode() + body)


@dataclass(slots=True)
class RangeHandler:
    """Serves `data` as it should be, ranges and all; `before` may answer instead, by returning True."""

    data: bytes
    etag: str = '"one"'
    before: Callable[[Asked, socket.socket], bool] = field(default=lambda asked, client: False)

    def __call__(self, asked: Asked, client: socket.socket) -> None:
        if self.before(asked, client):
            return
        tag = {"etag": self.etag} if self.etag else {}
        if asked.range and asked.headers.get("if-range", self.etag) == self.etag:
            first, last = asked.range
            total = f"bytes {first}-{last}/{len(self.data)}"
            answer(client, 206, self.data[first : last + 1], content_range=total, **tag)
        else:
            answer(client, 200, b"" if asked.method == "HEAD" else self.data, **tag)


@dataclass(slots=True)
class PassingHandler:
    """Passes requests on to the server at `host`; `before` may answer instead, by returning True. `after` is called
    when that server has answered, and the client does not know yet."""

    host: str
    before: Callable[[Asked, socket.socket], bool] = field(default=lambda asked, client: False)
    after: Callable[[Asked], None] = field(default=lambda asked: None)

    def __call__(self, asked: Asked, client: socket.socket) -> None:
        if self.before(asked, client):
            return
        connection = http.client.HTTPConnection(self.host)
        connection.request(asked.method, asked.path, asked.body, asked.headers)
        found = connection.getresponse()
        body = found.read()
        self.after(asked)
        answer(client, found.status, body, **dict(found.getheaders()))
        connection.close()
