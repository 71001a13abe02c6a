"""Bytes to and from a client, plain or encrypted, blocking, without limits of time."""

import contextlib
import errno
import os
import select
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from typing import Protocol

from ingot.serve.direct import DirectFile

# How long a client whose connection is closed may take to see that.
_LINGER_SECONDS = 1.0


class Transport(Protocol):
    """One thread receives, others may send at the same time, one after the other. OSError: the client is gone."""

    # Whether `send_file` can be used.
    direct: bool

    def receive(self, view: memoryview) -> int:
        """Waits for bytes and puts them into the view; 0 when the client has ended."""

    def glance(self, view: memoryview) -> int | None:
        """As `receive`, but None when nothing has come."""

    def send(self, view: memoryview | bytes, more: bool = False) -> None:
        """Sends all of it. `more` follows at once."""

    def send_file(self, head: memoryview, file: DirectFile, start: int, length: int) -> int:
        """Sends `head` and a part of a file; how much of that part could be read. OSError only of the client."""

    def end(self) -> None:
        """Lets whoever waits in the other methods go, from any thread."""

    def drain(self) -> None:
        """Lets whoever receives have what has come, and then the end, from any thread."""


class PlainTransport:
    """A TCP or unix socket."""

    direct = True

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(None)
        self._socket = connection
        self._number = connection.fileno()
        self.receive = connection.recv_into
        # Over TCP single pages of a file cost the receiver more than it saves: nbdcopy takes 1.3 times as long.
        self.send_file = self._send_pages if connection.family == socket.AF_UNIX else self._send_memory

    def glance(self, view: memoryview) -> int | None:
        try:
            return self.receive(view, 0, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None

    def send(self, view: memoryview | bytes, more: bool = False) -> None:
        self._socket.sendall(view, socket.MSG_MORE if more else 0)

    def _send_pages(self, head: memoryview, file: DirectFile, start: int, length: int) -> int:
        self._socket.sendall(head, socket.MSG_MORE)
        done = 0
        with _of_client():
            while done < length:
                count = os.sendfile(self._number, file.descriptor, start + done, length - done)
                if count == 0:
                    break
                done += count
        return done

    def _send_memory(self, head: memoryview, file: DirectFile, start: int, length: int) -> int:
        if file.memory is None:
            return self._send_pages(head, file, start, length)
        sent = 0
        with _of_client():
            sent = self._socket.sendmsg((head, file.memory[start : start + length]))
            while len(head) <= sent < len(head) + length:
                sent += self._socket.send(file.memory[start + sent - len(head) : start + length])
        if sent < len(head):
            self._socket.sendall(head[sent:])
        return max(0, sent - len(head))

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def drain(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RD)


class TlsTransport:
    """A socket after its TLS handshake. OpenSSL must not be in two calls for one connection at once, so it never waits
    there, but for the socket, with the lock given back."""

    direct = False

    def __init__(self, connection: ssl.SSLSocket) -> None:
        connection.settimeout(0)
        self._socket = connection
        self._lock = threading.Lock()

    def receive(self, view: memoryview) -> int:
        while True:
            try:
                with self._lock:
                    return self._socket.recv_into(view)
            except ssl.SSLWantReadError:
                self._wait(select.POLLIN)
            except ssl.SSLWantWriteError:
                self._wait(select.POLLOUT)

    def glance(self, view: memoryview) -> int | None:
        try:
            with self._lock:
                return self._socket.recv_into(view)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return None

    def send(self, view: memoryview | bytes, more: bool = False) -> None:
        view = memoryview(view)
        while len(view):
            try:
                with self._lock:
                    count = self._socket.send(view)
                view = view[count:]
            except ssl.SSLWantWriteError:
                self._wait(select.POLLOUT)
            except ssl.SSLWantReadError:
                self._wait(select.POLLIN)

    def send_file(self, head: memoryview, file: DirectFile, start: int, length: int) -> int:
        raise AssertionError("what is encrypted cannot come from a file directly")

    def _wait(self, events: int) -> None:
        poll = select.poll()
        poll.register(self._socket, events)
        poll.poll()

    def end(self) -> None:
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def drain(self) -> None:
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self._socket, socket.SHUT_RD)


@contextlib.contextmanager
def _of_client() -> Iterator[None]:
    """Raises what is the fault of the client; the file's is found out from what is missing."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.EIO, errno.EFAULT, errno.EINVAL, errno.EOVERFLOW):
            raise


def close_gently(connection: socket.socket) -> None:
    """Closes it so that what was sent arrives: a socket that is closed with something unread resets the connection."""
    with contextlib.suppress(OSError), connection:
        socket.socket.shutdown(connection, socket.SHUT_WR)
        connection.settimeout(_LINGER_SECONDS)
        deadline = time.monotonic() + _LINGER_SECONDS
        scratch = bytearray(1 << 16)
        while time.monotonic() < deadline and socket.socket.recv_into(connection, scratch):
            pass
