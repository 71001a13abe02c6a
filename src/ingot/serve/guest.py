"""One client of a server, in a thread of its own: handshake, transmission, end."""

import contextlib
import logging
import socket
import ssl
import threading
import time

from ingot.serve.catalog import Catalog
from ingot.serve.handshake import Handshake
from ingot.serve.parallel import ParallelSession
from ingot.serve.session import Agreed, Hangup, Session
from ingot.serve.tally import Tally
from ingot.serve.transport import PlainTransport, TlsTransport, Transport, close_gently

_log = logging.getLogger(__name__)


class Guest:
    """`deadline`: until when it must have said what it wants; None when it has, or while it waits for us."""

    def __init__(
        self, connection: socket.socket, peer: str, catalog: Catalog, security: ssl.SSLContext | None, seconds: float
    ) -> None:
        self._handshake = Handshake(connection, catalog, security, self._opening)
        self._lock = threading.Lock()
        self._transport: Transport | None = None
        self._session: Session | None = None
        self._seconds = seconds
        self.peer = peer
        self.tally = Tally()
        self.agreed: Agreed | None = None
        self.deadline: float | None = time.monotonic() + seconds

    def serve(self) -> None:
        """Returns when the client is gone, or sent away."""
        try:
            agreed = self._handshake.run()
            if agreed is not None:
                try:
                    self._transmit(agreed)
                finally:
                    agreed.lease.release()
        except Hangup as error:
            _log.warning("%s: %s; the connection is closed", self.peer, error)
        except OSError as error:
            _log.debug("%s: %s", self.peer, error)
        finally:
            close_gently(self._handshake.connection)

    def expire(self) -> None:
        """Ends it, from another thread, in the middle of whatever it does. Within TLS's first step it may have to be
        called again."""
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self._handshake.connection, socket.SHUT_RDWR)

    def leave(self, gone: bool) -> None:
        """Ends it after what it was asked for so far; where the export is `gone`, with errors for what still comes."""
        with self._lock:
            transport, session = self._transport, self._session
        if transport is None or session is None:
            self.expire()
            return
        if gone:
            session.refuse()
        transport.drain()

    def _opening(self, begins: bool) -> None:
        self.deadline = None if begins else time.monotonic() + self._seconds

    def _transmit(self, agreed: Agreed) -> None:
        connection = self._handshake.connection
        transport: Transport = (
            TlsTransport(connection) if isinstance(connection, ssl.SSLSocket) else PlainTransport(connection)
        )
        pool = agreed.lease.export.pool
        if pool is not None:
            session: Session = ParallelSession(transport, agreed, self.tally, pool)
        else:
            session = Session(transport, agreed, self.tally)
        with self._lock:
            self._transport, self._session = transport, session
            self.agreed, self.deadline = agreed, None
        session.run()
