"""Connections to servers, kept for the next request."""

import select
import socket
import ssl
import threading
import time
from collections import deque
from dataclasses import dataclass, field

from ingot.images.authorities import trust, trust_text
from ingot.images.registry.address import Origin, netloc
from ingot.images.registry.connection import Admit, Connection, TlsConnection
from ingot.images.registry.paced import PacedSocket, PacedTlsSocket
from ingot.images.registry.proxy import proxy_for
from ingot.images.registry.settings import Settings

# Many servers close a connection that was idle for a minute.
_IDLE_SECONDS = 50.0


@dataclass(slots=True, eq=False)
class Line:
    """A connection. `used`: it has carried a request before, so the server may have closed it meanwhile.

    A proxy may want a `prefix` before the path, and `headers` of its own.
    """

    connection: Connection
    origin: Origin
    prefix: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    used: bool = False
    since: float = 0.0

    @property
    def socket(self) -> PacedSocket | PacedTlsSocket:
        return self.connection.sock

    def close(self) -> None:
        self.connection.close()

    def old(self) -> bool:
        return time.monotonic() - self.since > _IDLE_SECONDS

    def stale(self) -> bool:
        """Whether the server has closed it, or is about to, or said something unasked."""
        if self.old() or self.connection.sock is None:
            return True
        poll = select.poll()
        poll.register(self.connection.sock, select.POLLIN)
        return bool(poll.poll(0))


class Pool:
    """Lends connections to any number of threads, each to one at a time. It does not outlive a fork.

    Of those that nobody uses, so many are kept as the settings say, whomever they lead to, and none for long.
    """

    def __init__(self, settings: Settings) -> None:
        """Raises ImageFault when the given CA cannot be used."""
        self._settings = settings
        # The machine's certificates take time to load, and are of no use for a server without TLS.
        self._made: ssl.SSLContext | None = _tls(settings) if settings.ca or settings.authorities else None
        # In the order in which they came back.
        self._idle: deque[Line] = deque()
        self._lock = threading.Lock()

    def take(self, origin: Origin, fresh: bool = False) -> Line:
        """A connection, or one to be: it connects by the first request. `fresh`: not one that was used before."""
        while not fresh:
            with self._lock:
                line = next((each for each in reversed(self._idle) if each.origin == origin), None)
                if line is None:
                    break
                self._idle.remove(line)
            if not line.stale():
                return line
            line.close()
        return self._make(origin)

    def give(self, line: Line) -> None:
        """Takes back a connection whose last answer was read to its end."""
        with self._lock:
            line.used, line.since = True, time.monotonic()
            self._idle.append(line)
        self.tidy()

    def tidy(self) -> None:
        """Closes those that nobody has used for long, and those that are too many."""
        left = []
        with self._lock:
            while self._idle and (len(self._idle) > self._settings.kept or self._idle[0].old()):
                left.append(self._idle.popleft())
        for line in left:
            line.close()

    @property
    def _tls(self) -> ssl.SSLContext:
        with self._lock:
            if self._made is None:
                self._made = _tls(self._settings)
            return self._made

    def close(self) -> None:
        with self._lock:
            lines = list(self._idle)
            self._idle.clear()
        for line in lines:
            line.close()

    def _make(self, origin: Origin) -> Line:
        proxy = proxy_for(*origin)
        timeout = self._settings.connect
        if origin.scheme == "https":
            return Line(TlsConnection(origin, proxy, timeout, self._tls), origin)
        connection = Connection(origin, proxy, timeout)
        if not proxy:
            return Line(connection, origin)
        return Line(connection, origin, f"http://{netloc(origin)}", proxy.headers)

    def connect(self, line: Line, admit: Admit) -> None:
        """Connects where that has not happened. `admit` is told whether the peer is this machine or on its link before
        a word is said to it. Raises what `admit` raises, OSError, ssl.SSLError and http.client.HTTPException."""
        if line.connection.sock is None:
            line.connection.admit = admit
            try:
                line.connection.connect()
            except UnicodeError:
                raise socket.gaierror(socket.EAI_NONAME, "this is no name of a host") from None
        else:
            admit(line.connection.near)


def _tls(settings: Settings) -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.sslsocket_class = PacedTlsSocket
    if settings.ca:
        trust(context, settings.ca)
    if settings.authorities:
        trust_text(context, settings.authorities)
    if not settings.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
