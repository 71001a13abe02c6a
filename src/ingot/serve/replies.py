"""Replies to a client, gathered so that those to requests that came together leave together."""

import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import Protocol

from ingot.images.fault import ImageFault
from ingot.images.nbd import wire
from ingot.serve.direct import DirectFile
from ingot.serve.export import Export
from ingot.serve.transport import Transport

# Longer reads are not gathered: they go out by themselves, from the file where that can be.
SMALL = 1 << 15
# How much of a long read is in memory at once.
PIECE = 1 << 18
_HEADS = 64
# wire.CHUNK and wire.DATA_OFFSET in one: magic, flags, type, cookie, length, offset.
_DATA = struct.Struct(">IHHQIQ")
_HEAD = _DATA.size

Fault = Callable[[Exception], int]


class Readable(Protocol):
    """Raises OSError or ImageFault. Anything else leaves replies as they were, and goes to whoever wanted one."""

    def readinto(self, start: int, view: memoryview, /) -> None: ...


class Broken(Exception):
    """A reply was begun that cannot be ended: the connection must be closed."""


class Replies(ABC):
    """For one thread; `lock` keeps apart what several of them send to one client.

    Replies are held until `flush`, or until there is no room. What goes wrong with an export is told to `fault`, which
    gives the error for the client. OSError: the client is gone.
    """

    def __init__(self, transport: Transport, lock: Lock, fault: Fault, room: int = PIECE) -> None:
        """`room`: the longest piece of a disk that is ever in memory here."""
        self._transport = transport
        self._lock = lock
        self._fault = fault
        self._room = room + _HEADS
        self._buffer = bytearray(self._room)
        self._view = memoryview(self._buffer)
        self._used = 0

    @abstractmethod
    def small(self, export: Readable, cookie: int, start: int, length: int) -> None:
        """Reads at most SMALL bytes and replies."""

    @abstractmethod
    def long(self, export: Export, cookie: int, start: int, length: int, whole: bool) -> None:
        """Reads any number of bytes and replies; with `whole` in one piece or with an error. Raises Broken."""

    @abstractmethod
    def error(self, cookie: int, code: int) -> None: ...

    @abstractmethod
    def status(self, cookie: int, context: int, found: Sequence[tuple[int, int]]) -> None:
        """Replies with lengths and flags of extents, one or more."""

    def done(self, cookie: int) -> None:
        """Replies to what is not a read, and went well."""
        self._add(wire.SIMPLE_REPLY.pack(wire.SIMPLE_REPLY_MAGIC, 0, cookie))

    def flush(self, more: bool = False) -> None:
        if self._used:
            used, self._used = self._used, 0
            with self._lock:
                self._transport.send(self._view[:used], more)

    def _add(self, data: bytes) -> None:
        if self._used + len(data) > self._room:
            self.flush()
        self._buffer[self._used : self._used + len(data)] = data
        self._used += len(data)


class SimpleReplies(Replies):
    """For clients who did not ask for structured ones."""

    def small(self, export: Readable, cookie: int, start: int, length: int) -> None:
        head = wire.SIMPLE_REPLY.size
        if self._used + head + length > self._room:
            self.flush()
        end = self._used + head + length
        try:
            export.readinto(start, self._view[self._used + head : end])
        except (OSError, ImageFault) as error:
            self.error(cookie, self._fault(error))
            return
        wire.SIMPLE_REPLY.pack_into(self._buffer, self._used, wire.SIMPLE_REPLY_MAGIC, 0, cookie)
        self._used = end

    def long(self, export: Export, cookie: int, start: int, length: int, whole: bool) -> None:
        self.flush()
        piece = min(length, PIECE)
        self.small(export, cookie, start, piece)
        if self._used == wire.SIMPLE_REPLY.size or length == piece:
            # It failed, or that is all.
            return
        with self._lock:
            self._transport.send(self._view[: self._used], True)
            self._used = 0
            for position in range(start + piece, start + length, PIECE):
                view = self._view[: min(PIECE, start + length - position)]
                try:
                    export.readinto(position, view)
                except (OSError, ImageFault) as error:
                    # Such a reply has its only place for an error in the head, which is sent.
                    self._fault(error)
                    raise Broken from error
                self._transport.send(view)

    def error(self, cookie: int, code: int) -> None:
        self._add(wire.SIMPLE_REPLY.pack(wire.SIMPLE_REPLY_MAGIC, code, cookie))

    def status(self, cookie: int, context: int, found: Sequence[tuple[int, int]]) -> None:
        raise AssertionError("block status needs structured replies")


class StructuredReplies(Replies):
    """Replies in chunks, of which the last one may still be an error."""

    def small(self, export: Readable, cookie: int, start: int, length: int) -> None:
        used = self._used
        if used + _HEAD + length > self._room:
            self.flush()
            used = 0
        end = used + _HEAD + length
        try:
            export.readinto(start, self._view[used + _HEAD : end])
        except (OSError, ImageFault) as error:
            self.error(cookie, self._fault(error))
            return
        _DATA.pack_into(
            self._buffer, used, wire.CHUNK_MAGIC, wire.CHUNK_DONE, wire.CHUNK_DATA, cookie, length + 8, start
        )
        self._used = end

    def long(self, export: Export, cookie: int, start: int, length: int, whole: bool) -> None:
        if export.direct is not None and self._transport.direct:
            self._from_file(export.direct, cookie, start, length)
        else:
            for _ in self.pieces(export, cookie, start, length, whole):
                self.flush()

    def _from_file(self, file: DirectFile, cookie: int, start: int, length: int) -> None:
        # The data's chunk is not the last one: the file may fail when its head has been sent.
        self._add(_DATA.pack(wire.CHUNK_MAGIC, 0, wire.CHUNK_DATA, cookie, length + 8, start))
        with self._lock:
            used, self._used = self._used, 0
            sent = self._transport.send_file(self._view[:used], file, start, length)
            for position in range(sent, length, PIECE):
                self._transport.send(bytes(min(PIECE, length - position)), True)
        if sent == length:
            self._add(wire.CHUNK.pack(wire.CHUNK_MAGIC, wire.CHUNK_DONE, wire.CHUNK_NONE, cookie, 0))
        else:
            self.error(cookie, self._fault(OSError(wire.EIO, f"it cannot be read at byte {start + sent}")))

    def pieces(self, export: Export, cookie: int, start: int, length: int, whole: bool) -> Iterator[None]:
        """As `long`, step by step: after each what there is must be flushed."""
        if whole and length > PIECE:
            self.error(cookie, wire.EOVERFLOW)
            return
        for position in range(start, start + length, PIECE):
            if self._used:
                yield
            count = min(PIECE, start + length - position)
            flags = wire.CHUNK_DONE if position + count == start + length else 0
            try:
                export.readinto(position, self._view[_HEAD : _HEAD + count])
            except (OSError, ImageFault) as error:
                self.error(cookie, self._fault(error))
                return
            _DATA.pack_into(self._buffer, 0, wire.CHUNK_MAGIC, flags, wire.CHUNK_DATA, cookie, count + 8, position)
            self._used = _HEAD + count

    def error(self, cookie: int, code: int) -> None:
        flags = wire.CHUNK_DONE
        head = wire.CHUNK.pack(wire.CHUNK_MAGIC, flags, wire.CHUNK_ERROR, cookie, wire.ERROR.size)
        self._add(head + wire.ERROR.pack(code, 0))

    def status(self, cookie: int, context: int, found: Sequence[tuple[int, int]]) -> None:
        body = wire.LONG.pack(context) + b"".join(wire.DESCRIPTOR.pack(length, flags) for length, flags in found)
        head = wire.CHUNK.pack(wire.CHUNK_MAGIC, wire.CHUNK_DONE, wire.CHUNK_STATUS, cookie, len(body))
        self._add(head + body)
