"""The sockets that a server listens on: bound by itself, or handed over by what started it."""

import contextlib
import os
import socket
from dataclasses import dataclass
from pathlib import Path

from ingot.host import sockets
from ingot.images.fault import ImageFault
from ingot.images.nbd.address import Address, Tls

_FIRST_ADOPTED = 3
_QUEUE = 256


@dataclass(frozen=True, slots=True)
class Listener:
    """`path` is that of a unix socket, None for TCP. `ours`: whether its file goes with the server."""

    socket: socket.socket
    path: Path | None = None
    ours: bool = False

    def uri(self, encrypted: bool) -> str:
        """What clients call it, without the name of an export."""
        tls = Tls() if encrypted else None
        if self.path is not None:
            return str(Address(socket=self.path, tls=tls))
        host, port = self.socket.getsockname()[:2]
        return str(Address(host=host, port=port, tls=tls))

    def remove(self) -> None:
        """Removes the file of a socket that was made here."""
        if self.ours and self.path is not None:
            self.path.unlink(missing_ok=True)


def adopted() -> list[Listener]:
    """What $LISTEN_FDS and $LISTEN_PID hand over, as systemd does it. Raises ImageFault for what is no such socket."""
    if os.environ.get("LISTEN_PID") != str(os.getpid()):
        return []
    count = int(os.environ.get("LISTEN_FDS") or 0)
    return [_adopt(number) for number in range(_FIRST_ADOPTED, _FIRST_ADOPTED + count)]


def _adopt(number: int) -> Listener:
    try:
        made = socket.socket(fileno=number)
        listens = made.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError as error:
        raise ImageFault("LISTEN_FDS", "BadSocket", f"descriptor {number}: {error.strerror}") from error
    if not listens or made.type != socket.SOCK_STREAM:
        raise ImageFault("LISTEN_FDS", "BadSocket", f"descriptor {number} is no socket that listens for streams")
    made.setblocking(False)
    made.set_inheritable(False)
    return Listener(made, Path(os.fsdecode(made.getsockname())) if made.family == socket.AF_UNIX else None)


def tcp(host: str, port: int, shared: bool) -> Listener:
    """Listens on an address; `shared`: others may do so, too, and the kernel deals out the clients. Raises OSError."""
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _, _, _, address = found[0]
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.bind(address)
        made.listen(_QUEUE)
        made.setblocking(False)
    except OSError:
        made.close()
        raise
    return Listener(made)


def unix(path: Path, mode: int = 0o600) -> Listener:
    """Listens on a unix socket, for those whom `mode` admits. Raises ImageFault, also when a server does so."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe, contextlib.suppress(OSError):
        probe.settimeout(1)
        with sockets.short(path) as name:
            probe.connect(name)
        raise ImageFault(str(path), "Taken", "another server listens there; end it, or choose another path")
    try:
        return Listener(sockets.listen(path, mode), path, ours=True)
    except OSError as error:
        why = f"it cannot be listened on: {error.strerror or error}; choose another path"
        raise ImageFault(str(path), "BadSocket", why) from error
