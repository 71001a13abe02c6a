"""What somebody brings piece by piece, as a blob that is read once: an upload, over as many connections as it takes."""

import threading
from collections import deque
from collections.abc import Callable

from ingot.images.blob import Bytes, ByteStream, no_ranges
from ingot.images.fault import ImageFault
from ingot.images.single_blob import SingleStream

# What may wait to be read: so much that neither side waits for the other at every piece.
_ROOM = 4 << 20


class Displaced(Exception):
    """Another byte is wanted than the one that was brought: the one at `position`."""

    def __init__(self, position: int) -> None:
        super().__init__(f"byte {position} is wanted")
        self.position = position


class Arrival:
    """A blob whose bytes one thread brings and another reads.

    `size` is 0 while nobody knows it. An image of more than `most` bytes is refused, whatever is in it. `changed` is
    called, by any thread, when there is room again, or another byte is wanted than before.
    """

    ranged = False

    def __init__(self, subject: str, size: int, most: int, changed: Callable[[], None]) -> None:
        self.subject = subject
        self.size = size
        self._most = most
        self._changed = changed
        self._lock = threading.Condition()
        self._pieces: deque[memoryview] = deque()
        self._held = 0
        self._position = 0
        self._reading = self._interrupted = self._ended = False
        self._fault: ImageFault | None = None

    @property
    def reading(self) -> bool:
        """Whether somebody reads."""
        return self._reading

    @property
    def position(self) -> int:
        """The place of the byte that is to be brought next."""
        return self._position

    def bring(self, start: int, data: bytes) -> bool:
        """Takes the bytes at `start`; False when there is no room now. Raises Displaced."""
        with self._lock:
            if start != self._position or not self._reading:
                raise Displaced(self._position)
            if self._held and self._held + len(data) > _ROOM:
                return False
            if self._position + len(data) > self._most:
                self._fault = ImageFault(self.subject, "TooLarge", f"no image of the disk has over {self._most} bytes")
            self._pieces.append(memoryview(data))
            self._held += len(data)
            self._position += len(data)
            # Whoever brought the last byte may be gone before they can say so.
            self._ended = bool(self.size) and self._position >= self.size
            self._lock.notify_all()
            return True

    def end(self) -> None:
        """All bytes have been brought. Where `size` tells of more that is not so: they are waited for."""
        with self._lock:
            self._ended = self._position >= self.size
            self._lock.notify_all()

    def abandon(self, fault: ImageFault) -> None:
        """Nobody will bring more: whoever reads gets the fault."""
        with self._lock:
            self._fault = fault
            self._lock.notify_all()

    def reopen(self) -> None:
        """Somebody is going to read it, again perhaps: from where they say then."""
        with self._lock:
            self._interrupted = False

    def interrupt(self) -> None:
        """Whoever reads wants no more, until `reopen`: a read that waits ends."""
        with self._lock:
            self._interrupted, self._reading = True, False
            self._lock.notify_all()

    def readinto(self, start: int, buffer: memoryview) -> None:
        raise no_ranges(self)

    def read(self, start: int, length: int) -> Bytes:
        raise no_ranges(self)

    def stream(self, start: int = 0) -> ByteStream:
        """From `start` on: what has been brought and is not read yet has to be brought again."""
        with self._lock:
            self._check()
            self._pieces.clear()
            self._held = 0
            self._position = start
            self._reading, self._ended = True, False
        self._changed()
        return _ArrivalStream(self, start)

    def take(self, buffer: memoryview) -> int:
        """Moves bytes into the buffer, as many as are at hand; waits for the first. 0 at the end."""
        with self._lock:
            self._lock.wait_for(lambda: self._pieces or self._ended or self._fault or self._interrupted)
            self._check()
            count = 0
            while self._pieces and count < len(buffer):
                piece = self._pieces.popleft()
                fits = min(len(piece), len(buffer) - count)
                buffer[count : count + fits] = piece[:fits]
                count += fits
                if fits < len(piece):
                    self._pieces.appendleft(piece[fits:])
            self._held -= count
        self._changed()
        return count

    def _check(self) -> None:
        if self._fault is not None:
            raise self._fault
        if self._interrupted:
            raise ImageFault(self.subject, "Interrupted", "nobody reads it any more", retry=True)


class _ArrivalStream(SingleStream):
    """A ByteStream of what is brought."""

    def __init__(self, arrival: Arrival, start: int) -> None:
        super().__init__(start)
        self._arrival = arrival

    def take(self, buffer: memoryview) -> int:
        return self._arrival.take(buffer)

    def close(self) -> None:
        """The blob is closed by those who bring it."""
