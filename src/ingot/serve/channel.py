"""Messages between the process that listens and those that serve, with open sockets where they belong to one."""

import json
import socket
from collections.abc import Sequence
from typing import Any

# No message is longer: what has no bound is cut into several.
MOST_BYTES = 1 << 16


def pair() -> tuple[socket.socket, socket.socket]:
    """Two ends. Messages stay whole, and the end of a process is seen by the other."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def send(end: socket.socket, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
    """Raises OSError; BlockingIOError where the other side does not take its messages."""
    data = json.dumps(message, ensure_ascii=False).encode()
    if len(data) > MOST_BYTES:
        raise ValueError(f"a message of {len(data)} bytes is too long")
    socket.send_fds(end, [data], descriptors)


def receive(end: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """The next message; None when the other side has ended. Raises OSError."""
    data, descriptors, _, _ = socket.recv_fds(end, MOST_BYTES, 1, socket.MSG_CMSG_CLOEXEC)
    if not data:
        return None
    message: dict[str, Any] = json.loads(data)
    return message, descriptors
