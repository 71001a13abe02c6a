"""One connection to libvirt, from its opening to its end. Its calls block: they are made in threads."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from functools import cache, partial
from typing import TypeVar

from ingot.node import binding
from ingot.node.binding import Connection
from ingot.node.events import Told, register

T = TypeVar("T")
log = logging.getLogger(__name__)

# A peer that has not answered for this many seconds, asked this often, is taken for dead.
KEEPALIVE_SECONDS = 5
KEEPALIVE_COUNT = 3


class Session:
    """A connection that several threads use. It is closed when it has been ended and nobody uses it any more:
    closing it under a call would take the memory from under that call.

    `told` hears the events of domains and `broken` of the connection's loss, both in the thread of libvirt's events.
    """

    def __init__(self, uri: str, told: Told, broken: Callable[["Session"], None]) -> None:
        """Connects. Raises libvirt.libvirtError, or ImportError where the binding is not installed."""
        _turn_events()
        self._lock = threading.Lock()
        self._users = 0
        self._ended = False
        self._connection = binding.connect(uri)
        self._connection.registerCloseCallback(lambda *_: broken(self), None)
        _keep_alive(self._connection)
        self._registered = register(self._connection, told)

    @property
    def alive(self) -> bool:
        """Whether the connection can be used. Does not block."""
        with self._lock:
            return not self._ended and bool(self._connection.isAlive())

    def use(self, work: Callable[[Connection], T]) -> T:
        """What `work` returns. Raises what it raises, and ConnectionError when the session has ended before."""
        with self._lock:
            if self._ended:
                raise ConnectionError("the connection to libvirt is closed")
            self._users += 1
        try:
            return work(self._connection)
        finally:
            self._leave()

    def end(self) -> None:
        """Ends the session; the last who uses it closes the connection."""
        with self._lock:
            if self._ended:
                return
            self._ended = True
            self._users += 1
        self._leave()

    def _leave(self) -> None:
        with self._lock:
            self._users -= 1
            last = self._ended and self._users == 0
        if last:
            self._close()

    def _close(self) -> None:
        """Gives back what the connection holds. What is registered holds the connection, and with it its socket."""
        ends: list[Callable[[], int]] = [
            partial(self._connection.domainEventDeregisterAny, number) for number in self._registered
        ]
        for end in (*ends, self._connection.unregisterCloseCallback, self._connection.close):
            # A connection that is broken gives back what is here, and complains that it cannot tell the other side.
            with contextlib.suppress(Exception):
                end()


def _keep_alive(connection: Connection) -> None:
    """Lets libvirt notice a peer that is there and does not answer. A driver inside this process has no peer."""
    try:
        connection.setKeepAlive(KEEPALIVE_SECONDS, KEEPALIVE_COUNT)
    except Exception as error:
        if binding.error_code(error) != binding.constant("VIR_ERR_NO_SUPPORT"):
            raise


@cache
def _turn_events() -> None:
    """Starts the thread that serves libvirt's event loop, of which a process has one for all connections."""
    library = binding.library()
    library.virEventRegisterDefaultImpl()

    def turn() -> None:
        while True:
            try:
                library.virEventRunDefaultImpl()
            except library.libvirtError:
                log.exception("libvirt's event loop")
                time.sleep(1)

    threading.Thread(target=turn, name="libvirt-events", daemon=True).start()
