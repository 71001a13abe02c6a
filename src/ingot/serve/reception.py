"""Where clients come in: they are accepted, counted, and handed to the worker with the fewest of them."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Sequence
from typing import Any

from ingot.serve.link import Link, WorkerLost
from ingot.serve.listening import Listener

_log = logging.getLogger(__name__)

# Before a client whom no worker takes is offered again, and before more are accepted where that has failed.
_OFFER_SECONDS = 0.1
_RECOVERY_SECONDS = 1.0
_SILENCE_SECONDS = 10.0


class Reception:
    """`links` are the workers that there are, kept by somebody else. Runs in one event loop."""

    def __init__(self, listeners: Sequence[Listener], links: Sequence[Link], most: int) -> None:
        """`most`: how many clients there may be at once."""
        self._listeners = [listener.socket for listener in listeners]
        self._links = links
        self._most = most
        self._accepting = False
        self._closed = False
        self._silent_until = 0.0
        # Clients that were accepted and that no worker would take so far.
        self._waiting: list[tuple[socket.socket, str]] = []

    def open(self) -> None:
        """Accepts clients, if there is a worker for them."""
        if not self._accepting and self._links and not self._closed:
            self._accepting = True
            for listener in self._listeners:
                asyncio.get_running_loop().add_reader(listener, self._accept, listener)

    def _pause(self) -> None:
        """Clients wait in the kernel's queue until there is a worker again."""
        if self._accepting:
            self._accepting = False
            for listener in self._listeners:
                asyncio.get_running_loop().remove_reader(listener)

    def _accept(self, listener: socket.socket) -> None:
        if not self._links:
            self._pause()
            return
        try:
            client, address = listener.accept()
        except (BlockingIOError, ConnectionError):
            return
        except OSError as error:
            # There are too many open files, or no memory; it would fail again at once.
            self._complain(f"no client can be accepted: {error}")
            self._pause()
            asyncio.get_running_loop().call_later(_RECOVERY_SECONDS, self.open)
            return
        if len(self._waiting) + sum(link.clients for link in self._links) >= self._most:
            self._complain(f"clients are refused: there are {self._most} already")
            client.close()
            return
        _tune(client)
        self.hand_over(client, _peer(client, address))

    def _complain(self, what: str) -> None:
        """Logs what strangers can bring about as often as they like, once in a while."""
        now = asyncio.get_running_loop().time()
        if now >= self._silent_until:
            self._silent_until = now + _SILENCE_SECONDS
            _log.warning("%s", what)

    def hand_over(self, client: socket.socket, peer: str) -> None:
        """Gives a client to the worker with the fewest of them; where there is none that takes it, it waits."""
        for link in sorted(self._links, key=lambda link: link.clients):
            with contextlib.suppress(WorkerLost):
                link.give(client, peer)
                return
        if not self._waiting:
            asyncio.get_running_loop().call_later(_OFFER_SECONDS, self._hand_over_waiting)
        self._waiting.append((client, peer))

    def _hand_over_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for client, peer in waiting:
            self.hand_over(client, peer)

    def close(self) -> None:
        """Nobody is accepted any more."""
        self._closed = True
        self._pause()
        for listener in self._listeners:
            listener.close()
        for client, _ in self._waiting:
            client.close()
        self._waiting.clear()


def _tune(client: socket.socket) -> None:
    """Replies leave at once, and a client whose machine is gone is noticed."""
    if client.family != socket.AF_UNIX:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 15)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4)


def _peer(client: socket.socket, address: Any) -> str:
    return "a client on the socket" if client.family == socket.AF_UNIX else f"{address[0]}:{address[1]}"
