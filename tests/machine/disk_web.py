"""A small web server for tests: ranges, passwords, redirects and TLS, each as asked."""

import base64
import contextlib
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Web:
    """What the server has and does, and the Authorization and Referer headers that it was sent."""

    files: dict[str, bytes]
    ranges: bool = True
    password: str = ""
    redirects: dict[str, str] = field(default_factory=dict)
    seen: list[str | None] = field(default_factory=list)
    referers: set[str | None] = field(default_factory=set)
    port: int = 0


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    web: Web

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, body: bool) -> None:
        web = self.web
        path = self.path.partition("?")[0]
        web.seen.append(self.headers.get("Authorization"))
        web.referers.add(self.headers.get("Referer"))
        if path in web.redirects:
            return self._send(302, b"", body, {"Location": web.redirects[path]})
        wanted = "Basic " + base64.b64encode(f"joe:{web.password}".encode()).decode()
        if web.password and self.headers.get("Authorization") != wanted:
            return self._send(401, b"", body, {"WWW-Authenticate": 'Basic realm="x"'})
        if path not in web.files:
            return self._send(404, b"", body, {})
        content = web.files[path]
        asked = self.headers.get("Range", "")
        accepts = {"Accept-Ranges": "bytes"} if web.ranges else {}
        if not (asked and web.ranges):
            return self._send(200, content, body, accepts)
        first, _, last = asked.removeprefix("bytes=").partition("-")
        return self._send(206, content[int(first) : int(last) + 1], body, accepts)

    def _send(self, code: int, content: bytes, body: bool, headers: dict[str, str]) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def serving(web: Web, context: ssl.SSLContext | None = None) -> Iterator[Web]:
    """The server, on a free port, in a thread."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"web": web}))
    server.daemon_threads = True
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    web.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield web
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
