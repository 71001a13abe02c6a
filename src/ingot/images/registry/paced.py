"""Sockets that do not wait for ever: a peer that is silent or too slow is given up."""

import math
import socket
import ssl
import time
from typing import Any

from ingot.images.registry.settings import Settings


class _Paced:
    """A peer has credit of `patience` seconds. Waiting for it uses that up, and every byte gives a little back: so it
    lasts as long as the peer sends at least `slowest` bytes a second. Our own pauses cost nothing.

    `deadline` bounds what should be short, such as headers, whatever the speed.
    """

    patience = 30.0
    slowest = 1024
    credit = 30.0
    deadline = math.inf

    def pace(self, settings: Settings) -> None:
        self.patience = self.credit = settings.patience
        self.slowest = settings.slowest

    def expect(self, seconds: float) -> None:
        """What comes now must have come after that time."""
        self.credit = seconds
        self.deadline = time.monotonic() + seconds

    def flow(self) -> None:
        """What comes now may take as long as it flows."""
        self.credit = self.patience
        self.deadline = math.inf

    def _allowed(self, now: float) -> float:
        allowed = min(self.credit, self.deadline - now)
        if allowed <= 0:
            raise TimeoutError("the peer is too slow")
        return allowed

    def _received(self, count: int, seconds: float) -> None:
        self.credit = min(self.patience, self.credit - seconds + count / self.slowest)


class PacedSocket(_Paced, socket.socket):
    @classmethod
    def adopt(cls, plain: socket.socket) -> "PacedSocket":
        """Takes the connection over."""
        family, kind, proto = plain.family, plain.type, plain.proto
        return cls(family, kind, proto, fileno=plain.detach())

    def recv_into(self, *arguments: Any) -> int:
        before = time.monotonic()
        self.settimeout(self._allowed(before))
        count = super().recv_into(*arguments)
        self._received(count, time.monotonic() - before)
        return count

    def sendall(self, *arguments: Any) -> None:
        self.settimeout(self.patience)
        super().sendall(*arguments)


class PacedTlsSocket(_Paced, ssl.SSLSocket):
    def recv_into(self, *arguments: Any) -> int:
        before = time.monotonic()
        self.settimeout(self._allowed(before))
        count = super().recv_into(*arguments)
        self._received(count, time.monotonic() - before)
        return count

    def sendall(self, *arguments: Any) -> None:
        self.settimeout(self.patience)
        super().sendall(*arguments)
