"""A connection as whole pieces of bytes, with limits of time."""

import contextlib
import math
import socket
import ssl
import time

from ingot.host.sockets import short
from ingot.images.fault import ImageFault
from ingot.images.nbd.address import Address

CONNECT_SECONDS = 15
# A server may have to fetch what it is asked for; one that sends nothing for so long is dead. Waiting uses that time
# up, and what arrives gives it back at so many bytes a second: one that is slower for long is as good as dead.
SILENCE_SECONDS = 120.0
SLOWEST = 1024


class Channel:
    """Bytes to and from a server. Every method raises ImageFault, with `retry`, when the connection is lost."""

    def __init__(self, address: Address) -> None:
        self._address = address
        try:
            self._socket = _connect(address)
        except OSError as error:
            raise self._lost(f"it cannot be reached: {error.strerror or error}") from error
        self._deadline = math.inf
        self._credit = SILENCE_SECONDS

    def hurry(self, seconds: float | None) -> None:
        """All that is received from now on must be here within that time; None: no such limit any more."""
        self._deadline = math.inf if seconds is None else time.monotonic() + seconds

    def encrypt(self) -> None:
        """Speaks TLS from now on."""
        assert self._address.tls is not None
        host = self._address.host if self._address.socket is None else "localhost"
        try:
            self._socket = self._address.tls.context().wrap_socket(self._socket, server_hostname=host)
        except ssl.SSLCertVerificationError as error:
            raise ImageFault(str(self._address), "Untrusted", f"its certificate: {error.verify_message}") from error
        except OSError as error:
            raise ImageFault(str(self._address), "Tls", f"TLS fails: {error.strerror or error}") from error

    def send(self, data: bytes | bytearray) -> None:
        try:
            self._socket.settimeout(SILENCE_SECONDS)
            self._socket.sendall(data)
        except OSError as error:
            raise self._lost(str(error)) from error

    def receive(self, length: int) -> bytearray:
        data = bytearray(length)
        self.receive_into(memoryview(data))
        return data

    def receive_into(self, view: memoryview) -> None:
        """Fills the whole view."""
        try:
            while len(view):
                before = time.monotonic()
                self._socket.settimeout(max(0.001, min(self._credit, self._deadline - before)))
                count = self._socket.recv_into(view)
                waited = time.monotonic() - before
                self._credit = min(SILENCE_SECONDS, self._credit - waited + count / SLOWEST)
                if count == 0:
                    raise self._lost("it closed the connection")
                view = view[count:]
        except OSError as error:
            raise self._lost(str(error)) from error

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()

    def _lost(self, why: str) -> ImageFault:
        return ImageFault(str(self._address), "Disconnected", why, retry=True)


def _connect(address: Address) -> socket.socket:
    if address.socket is None:
        made = socket.create_connection((address.host, address.port), CONNECT_SECONDS)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    else:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            made.settimeout(CONNECT_SECONDS)
            with short(address.socket) as name:
                made.connect(name)
        except OSError:
            made.close()
            raise
    made.settimeout(SILENCE_SECONDS)
    return made
