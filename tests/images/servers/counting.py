"""A registry that knows every image, and counts what it is asked: it has nothing but digests."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import unquote

HOST, PASS = "127.0.0.1", "everybody"


def digest_of(repository: str, version: int = 1) -> str:
    """What a tag of the repository stands for."""
    return f"sha256:{hashlib.sha256(f'{repository} {version}'.encode()).hexdigest()}"


class CountingRegistry:
    """Answers HEAD for any tag of any repository while the block lasts. `requests` are counted by method and path.

    `bearer`: it wants a pass for each repository, gives it to everybody, and does not say how long it lasts.
    """

    def __init__(self, *, bearer: bool = False) -> None:
        self.bearer = bearer
        self.requests: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer((HOST, 0), self._handler())

    @property
    def host(self) -> str:
        return f"{HOST}:{self._server.server_port}"

    def __enter__(self) -> CountingRegistry:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def asked(self) -> Counter[str]:
        """What it has been asked since this was last called."""
        with self._lock:
            found, self.requests = self.requests, Counter()
        return found

    def _count(self, what: str) -> None:
        with self._lock:
            self.requests[what] += 1

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        registry = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                registry._count(f"HEAD {self.path}")
                repository, _, _ = self.path.removeprefix("/v2/").partition("/manifests/")
                if registry.bearer and self.headers.get("Authorization") != f"Bearer {PASS}":
                    self.send_response(401)
                    self.send_header("WWW-Authenticate", f'Bearer realm="http://{registry.host}/token"')
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                self.send_response(200)
                self.send_header("Content-Type", "application/vnd.oci.image.manifest.v1+json")
                self.send_header("Docker-Content-Digest", digest_of(repository))
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self) -> None:
                registry._count(f"GET {unquote(self.path)}")
                token = registry.bearer and self.path.startswith("/token?")
                body = f'{{"token": "{PASS}"}}'.encode() if token else b""
                self.send_response(200 if token or self.path == "/v2/" else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Nobody reads it."""

        return Handler
