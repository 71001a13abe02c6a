"""A way to a server that can be shut, as when the server dies, and opened again."""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType

_BLOCK = 1 << 16


class Gate:
    """Passes connections of its own port, on an address of this machine, on to `port` of loopback. A shut gate resets
    those that are there, and closes new ones at once."""

    def __init__(self, port: int, address: str = "127.0.0.1", own_port: int = 0) -> None:
        self._target = port
        self._listener = socket.create_server((address, own_port))
        self.address = address
        self.port: int = self._listener.getsockname()[1]
        self._shut = False
        self._lost = 0
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._timer: threading.Timer | None = None

    @property
    def host(self) -> str:
        return f"{self.address}:{self.port}"

    def __enter__(self) -> Gate:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.shut()

    def shut(self, for_seconds: float = 0.0) -> None:
        with self._lock:
            self._shut = True
            for each in self._open:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
        if for_seconds:
            self._timer = threading.Timer(for_seconds, self.open)
            self._timer.start()

    def lose(self, connections: int) -> None:
        """So many new ones are closed at once, and the later ones are passed on."""
        with self._lock:
            self._lost = connections

    def open(self) -> None:
        with self._lock:
            self._shut = False

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                with self._lock:
                    if self._shut or self._lost:
                        self._lost = max(self._lost - 1, 0)
                        client.close()
                        continue
                    server = socket.create_connection(("127.0.0.1", self._target))
                    self._open |= {client, server}
                for source, sink in ((client, server), (server, client)):
                    threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_BLOCK):
                sink.sendall(data)
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._open -= {source}
        source.close()
