"""Sockets that do not wait for ever: a peer that is silent or too slow is given up."""

import fcntl
import math
import socket
import ssl
import struct
import termios
import time
from collections.abc import Callable
from typing import Any

from ingot.images.registry.settings import Settings

# What is handed over in one go, for which the peer has the patience that it has for silence.
_SLICE = 256 << 10
_COUNT = struct.Struct("i")


class _Paced:
    """A peer has credit of `patience` seconds. Waiting for it uses that up, and every byte gives a little back: so it
    lasts as long as the peer sends or takes at least `slowest` bytes a second. Our own pauses cost nothing.

    `deadline` bounds what should be short, such as headers, whatever the speed, to `span` seconds; it is put off while
    the peer takes what was sent before, of which `left` bytes were on this machine at the last look.
    """

    patience = 30.0
    slowest = 1024
    credit = 30.0
    deadline = math.inf
    span = 30.0
    left = 0

    def pace(self, settings: Settings) -> None:
        self.patience = self.credit = settings.patience
        self.slowest = settings.slowest

    def expect(self, seconds: float) -> None:
        """What comes now must have come after that time."""
        self.credit = self.span = seconds
        self.deadline = time.monotonic() + seconds

    def flow(self) -> None:
        """What comes now may take as long as it flows."""
        self.credit = self.patience
        self.deadline = math.inf
        self.left = 0

    def allowed(self, now: float) -> float:
        """The seconds that the peer has from now on. Raises TimeoutError where there are none."""
        allowed = min(self.credit, self.deadline - now)
        if allowed <= 0:
            raise TimeoutError("the peer is too slow")
        return allowed

    def moved(self, count: int, seconds: float) -> None:
        """That many bytes have come or gone after so long a wait."""
        self.credit = min(self.patience, self.credit - seconds + count / self.slowest)


class PacedSocket(_Paced, socket.socket):
    @classmethod
    def adopt(cls, plain: socket.socket) -> "PacedSocket":
        """Takes the connection over."""
        family, kind, proto = plain.family, plain.type, plain.proto
        return cls(family, kind, proto, fileno=plain.detach())

    def recv_into(self, *arguments: Any) -> int:
        return _receive(self, super().recv_into, arguments)

    def sendall(self, data: Any, flags: int = 0) -> None:
        _send_all(self, data)


class PacedTlsSocket(_Paced, ssl.SSLSocket):
    def recv_into(self, *arguments: Any) -> int:
        return _receive(self, super().recv_into, arguments)

    def sendall(self, data: Any, flags: int = 0) -> None:
        _send_all(self, data)


def _receive(connection: PacedSocket | PacedTlsSocket, receive: Callable[..., int], arguments: tuple[Any, ...]) -> int:
    while True:
        before = time.monotonic()
        connection.settimeout(connection.allowed(before))
        try:
            count = receive(*arguments)
        except TimeoutError:
            # Where the line is slow, some megabytes may have waited on this machine, and the peer for them.
            left = _unsent(connection)
            if left >= connection.left:
                raise
            connection.left = left
            connection.expect(connection.span)
        else:
            connection.moved(count, time.monotonic() - before)
            return count


def _send_all(connection: PacedSocket | PacedTlsSocket, data: Any) -> None:
    connection.flow()
    view = memoryview(data).cast("B")
    while len(view):
        before = time.monotonic()
        connection.settimeout(connection.allowed(before))
        count = connection.send(view[:_SLICE])
        connection.moved(count, time.monotonic() - before)
        view = view[count:]
    left = _unsent(connection)
    # Less is on its way as it should be, and no reason to wait longer for an answer.
    connection.left = left if left > _SLICE else 0


def _unsent(connection: socket.socket) -> int:
    """Bytes that the peer's machine has not confirmed."""
    return int(_COUNT.unpack(fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(_COUNT.size)))[0])
