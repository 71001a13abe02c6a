"""`/progress`: how far a worker is, for those who ask by HTTP."""

import json
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Self

from ingot.host import pod_sockets

# The rate is that of so many seconds; one sample is kept for each part of them.
_WINDOW = 5.0
_SAMPLE = 0.25
# One request at a time, and none may keep us: who asks is a controller that will ask again.
_SECONDS = 2.0
_MOST_REQUEST = 4096
# Nor at the end.
_END_SECONDS = 0.1
# Who asks takes a few KiB, in which a character may have four bytes.
_MOST_WHY = 800
_TYPES = {200: "OK", 404: "Not Found", 400: "Bad Request"}


class Progress:
    """Called with the bytes that are done, and those in all or 0; by any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._done = self._total = 0
        self._refused = ""
        self._samples: deque[tuple[float, int]] = deque(maxlen=int(_WINDOW / _SAMPLE) + 1)

    def __call__(self, done: int, total: int) -> None:
        self._done, self._total, self._refused = done, total, ""
        now = self._clock()
        if not self._samples or now - self._samples[-1][0] >= _SAMPLE:
            self._samples.append((now, done))

    def refuse(self, why: str) -> None:
        """What was done has come to nothing; others may come."""
        self._done = self._total = 0
        self._samples.clear()
        self._refused = why[:_MOST_WHY]

    def document(self) -> dict[str, Any]:
        """`done`, `total`, and the `rate` of the last seconds in bytes per second: 0 when nothing moves any more. After
        a refusal, why it was: `refused`."""
        told = {"done": self._done, "total": self._total, "rate": self._rate()}
        return told | ({"refused": self._refused} if self._refused else {})

    def _rate(self) -> int:
        now = self._clock()
        recent = [sample for sample in tuple(self._samples) if now - sample[0] <= _WINDOW]
        if not recent or now <= recent[0][0]:
            return 0
        since, done = recent[0]
        return max(0, int((self._done - done) / max(now - since, _SAMPLE)))


class ProgressServer:
    """Answers `GET /progress` at an address, or at the pod's own socket for the port where it has such, until the block
    ends. It has one thread, and holds nobody up."""

    def __init__(self, progress: Progress, host: str, port: int) -> None:
        """Raises OSError when the address cannot be had."""
        self._progress = progress
        self._listener = _listening(host, port)
        self.port: int = port or self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, name="progress", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # A thread that waits in accept is woken by this, and not by close.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(_END_SECONDS)

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                with client:
                    client.sendall(self._answer(_request(client)))
            except OSError:
                # Who asked is gone, or has never said what they want.
                continue

    def _answer(self, line: bytes) -> bytes:
        match line.split(b" "):
            case [b"GET", b"/progress", _]:
                return _response(200, json.dumps(self._progress.document(), ensure_ascii=False).encode())
            case [_, _, _]:
                return _response(404, b"{}")
            case _:
                return _response(400, b"{}")


def _listening(host: str, port: int) -> socket.socket:
    own = pod_sockets.listening(port)
    if own is not None:
        own.setblocking(True)
        return own
    return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=8)


def _request(client: socket.socket) -> bytes:
    """The first line of a request, which has come whole. Raises OSError for one that is too long, or too slow."""
    deadline = time.monotonic() + _SECONDS
    head = b""
    while b"\r\n\r\n" not in head:
        client.settimeout(max(deadline - time.monotonic(), 0.001))
        data = client.recv(_MOST_REQUEST)
        head += data
        if not data or len(head) > _MOST_REQUEST:
            raise ConnectionError("this is no request")
    return head.partition(b"\r\n")[0]


def _response(status: int, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status} {_TYPES[status]}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return f"{head}\r\nConnection: close\r\n\r\n".encode() + body
