"""What is in a decompressed stream: the disk itself, or an archive with the disk in it."""

from collections.abc import Iterator

import msgspec

from ingot.images.fault import ImageFault
from ingot.images.seal import decode_record
from ingot.images.tar import Member, TarReader
from ingot.images.tar_header import BLOCK, is_header


class _State(msgspec.Struct):
    """`tar` is the state of the archive; None where the stream is the disk itself."""

    tar: bytes | None
    position: int


class Unpacking:
    """Gives the bytes of the disk out of a stream that is fed to it. For one thread at a time."""

    def __init__(self, subject: str, limit: int, archive: bool) -> None:
        """A disk of more than `limit` bytes is refused. With `archive` the stream must be the tar of a layer; else
        its first block says whether it is a tar."""
        self._subject = subject
        self._limit = limit
        self._layer = archive
        self._tar = TarReader(subject, limit) if archive else None
        self._decided = archive
        self._head = bytearray()
        self._position = 0

    @property
    def member(self) -> Member | None:
        """The disk in the archive, once it is found; None where there is no archive."""
        return self._tar.member if self._tar else None

    @property
    def hiding(self) -> tuple[str, ...]:
        """As TarReader's."""
        return self._tar.hiding if self._tar else ()

    def feed(self, data: memoryview) -> Iterator[memoryview]:
        """Takes the next bytes, and gives those of the disk among them. Raises ImageFault."""
        if not self._decided:
            if len(self._head) + len(data) < BLOCK:
                self._head += data
                return
            head = bytes(self._head) + bytes(data[: BLOCK - len(self._head)])
            yield from self._decide(head)
        yield from self._feed(data)

    def _decide(self, head: bytes) -> Iterator[memoryview]:
        self._decided = True
        if is_header(head):
            self._tar = TarReader(self._subject, self._limit, self._layer)
        kept, self._head = self._head, bytearray()
        yield from self._feed(memoryview(kept))

    def _feed(self, data: memoryview) -> Iterator[memoryview]:
        if self._tar:
            yield from self._tar.feed(data)
            return
        self._position += len(data)
        if self._position > self._limit:
            message = f"it has more than {self._limit} bytes when decompressed, and there is no room for more"
            raise ImageFault(self._subject, "TooLarge", message)
        if len(data):
            yield data

    def finish(self) -> Iterator[memoryview]:
        """Call it at the stream's end: the last bytes. Raises ImageFault: Truncated, NoDisk."""
        if not self._decided:
            yield from self._decide(b"")
        if self._tar:
            self._tar.finish()

    def state(self) -> bytes | None:
        """All that is needed to go on, between two calls of `feed`; None where that is impossible."""
        if not self._decided:
            return None
        return msgspec.msgpack.encode(_State(self._tar.state() if self._tar else None, self._position))

    def resume(self, state: bytes) -> None:
        """Goes on where the state was taken. Raises ImageFault Damaged."""
        kept = decode_record(state, _State, f"checkpoint of {self._subject}")
        self._decided = True
        self._position = kept.position
        limit, layer = self._limit, self._layer
        self._tar = None if kept.tar is None else TarReader.from_state(kept.tar, self._subject, limit, layer)
