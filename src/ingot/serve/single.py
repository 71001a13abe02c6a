"""One content under a socket of this process, as long as a block lasts: for guests that are watched."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

from ingot.images.content import Content
from ingot.serve.afar import Afar, AfarOptions, Progress
from ingot.serve.catalog import Catalog
from ingot.serve.entry import Entry
from ingot.serve.export import ContentExport, Export
from ingot.serve.guest import Guest
from ingot.serve.opening import Opener

_NAME = "disk"
_HANDSHAKE_SECONDS = 20.0


class _One(Opener):
    """Opens the same content whatever is asked for. It is not closed with its last client."""

    def __init__(self, content: Content) -> None:
        super().__init__(Afar(AfarOptions(cache="", limit=0)))
        self._content = content

    def open(self, entry: Entry, progress: Progress) -> Export:
        return ContentExport(_Borrowed(self._content), slow=True)


class _Borrowed:
    """Content that stays open."""

    def __init__(self, content: Content) -> None:
        self.size = content.size
        self.readinto = content.readinto
        self.extents = content.extents

    def close(self) -> None:
        """Whoever lent it closes it."""


@contextlib.contextmanager
def single(content: Content, path: Path) -> Iterator[str]:
    """Serves the content at a unix socket that is made at `path`; its URI. Raises OSError."""
    catalog = Catalog(_One(content))
    catalog.add(Entry(_NAME, "/dev/null"))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    guests: dict[Guest, threading.Thread] = {}
    thread = threading.Thread(target=_accept, args=(listener, catalog, guests), daemon=True)
    thread.start()
    try:
        yield f"nbd+unix:///{_NAME}?socket={path}"
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
        for guest, served in guests.items():
            guest.expire()
            served.join()
        path.unlink(missing_ok=True)


def _accept(listener: socket.socket, catalog: Catalog, guests: dict[Guest, threading.Thread]) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection, _ = listener.accept()
            guest = Guest(connection, "guest", catalog, None, _HANDSHAKE_SECONDS)
            guests[guest] = threading.Thread(target=guest.serve, daemon=True)
            guests[guest].start()
