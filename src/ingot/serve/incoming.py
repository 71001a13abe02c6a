"""Bytes from a client, taken from the kernel as many at once as there are."""

from collections.abc import Iterator

from ingot.serve.transport import Transport
from ingot.serve.watch import Watch

# Many requests, or a few with what is to be written.
_ROOM = 1 << 17
# What is to be written is taken in pieces of this size.
_PIECE = 1 << 20


class Incoming:
    """What was received and not yet taken is `buffer[start:end]`. OSError: the client is gone."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._watch = Watch(transport)
        self.buffer = bytearray(_ROOM)
        self._view = memoryview(self.buffer)
        self._piece: memoryview | None = None
        self.start = 0
        self.end = 0

    def fill(self) -> bool:
        """Waits for more; False when the client has ended."""
        left = self.end - self.start
        if left:
            self.buffer[:left] = self.buffer[self.start : self.end]
        count = self._watch.receive(self._view[left:] if left else self._view)
        self.start, self.end = 0, left + count
        return count > 0

    def payload(self, length: int) -> Iterator[memoryview]:
        """The next bytes, in pieces that are good until the next one is asked for. Raises EOFError."""
        held = min(length, self.end - self.start)
        if held:
            self.start += held
            yield self._view[self.start - held : self.start]
        if self._piece is None and held < length:
            self._piece = memoryview(bytearray(_PIECE))
        while held < length:
            assert self._piece is not None
            piece = self._piece[: length - held]
            self._receive(piece)
            held += len(piece)
            yield piece

    def _receive(self, view: memoryview) -> None:
        while len(view):
            count = self._transport.receive(view)
            if count == 0:
                raise EOFError
            view = view[count:]
