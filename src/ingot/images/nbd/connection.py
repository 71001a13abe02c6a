"""One connection to an NBD server: reads and block status, and nothing that the server says is taken on trust."""

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from ingot.images.fault import ImageFault
from ingot.images.nbd import wire
from ingot.images.nbd.address import Address
from ingot.images.nbd.channel import Channel
from ingot.images.nbd.negotiation import Negotiation

# What one request asks for, and how many of them are under way: enough that the server always has work.
_PIECE = 1 << 20
_WINDOW = 8
# Block status is asked for so much at once, and a reply is at most so long: one descriptor for each 4 KiB.
_STATUS = 1 << 30
_MOST_STATUS = wire.LONG.size + (_STATUS >> 12) * wire.DESCRIPTOR.size
_MOST_MESSAGE = 4096
# No server cuts a read into smaller pieces than these, but a hostile one, to keep us busy.
_LEAST_CHUNK = 512


@dataclass(slots=True)
class _Piece:
    """A read under way: where it is, what it fills, and which parts of that are filled."""

    start: int
    view: memoryview
    filled: list[tuple[int, int]] = field(default_factory=list)

    def part(self, start: int, length: int) -> memoryview:
        """The part of the view for bytes of the export. Raises ValueError when they were not asked for."""
        begin = start - self.start
        if begin < 0 or length == 0 or begin + length > len(self.view):
            raise ValueError(f"bytes {start} to {start + length} were not asked for")
        if len(self.filled) > len(self.view) // _LEAST_CHUNK:
            raise ValueError("a read is answered in too many chunks")
        self.filled.append((begin, begin + length))
        return self.view[begin : begin + length]

    def check(self) -> None:
        """Raises ValueError unless every byte was sent exactly once."""
        position = 0
        for begin, end in sorted(self.filled):
            if begin != position:
                raise ValueError(f"byte {self.start + min(begin, position)} is sent twice or never")
            position = end
        if position != len(self.view):
            raise ValueError(f"byte {self.start + position} is never sent")


class Connection:
    """For one thread at a time. After an ImageFault of any method it is of no more use: close it."""

    def __init__(self, address: Address, dial: Callable[[Address], Channel] = Channel) -> None:
        """Raises ImageFault."""
        self._address = address
        self._channel = dial(address)
        self._cookie = 0
        try:
            self.terms = Negotiation(self._channel, address).run()
        except BaseException:
            self._channel.close()
            raise

    def read(self, start: int, view: memoryview) -> None:
        """Fills the view. Start and length are multiples of the server's least block. Raises ImageFault."""
        pieces: dict[int, _Piece] = {}
        position = 0
        most = min(_PIECE, self.terms.most)
        while position < len(view) or pieces:
            requests = bytearray()
            while position < len(view) and len(pieces) < _WINDOW:
                part = view[position : position + most]
                requests += self._request(wire.CMD_READ, start + position, len(part))
                pieces[self._cookie] = _Piece(start + position, part)
                position += len(part)
            if requests:
                self._channel.send(requests)
            try:
                if self.terms.structured:
                    self._take_chunk(pieces)
                else:
                    self._take_simple(pieces)
            except ValueError as error:
                raise self._bad(str(error)) from error

    def status(self, start: int, length: int) -> list[tuple[int, int]]:
        """Lengths and flags of base:allocation from `start` on, at least one and none beyond that length. It must have
        been agreed on. Raises ImageFault."""
        self._channel.send(self._request(wire.CMD_BLOCK_STATUS, start, min(length, _STATUS)))
        found: list[tuple[int, int]] = []
        while True:
            flags, kind, size = self._chunk({self._cookie})[1:]
            if kind == wire.CHUNK_STATUS:
                if found or size < wire.LONG.size + wire.DESCRIPTOR.size or size > _MOST_STATUS or size % 8 != 4:
                    raise self._bad(f"its block status has {size} bytes, or comes twice")
                found = self._descriptors(self._channel.receive(size), min(length, _STATUS))
            elif kind != wire.CHUNK_NONE or size or not flags & wire.CHUNK_DONE:
                raise self._bad(f"a chunk of type {kind} answers a question for the block status")
            if flags & wire.CHUNK_DONE:
                if not found:
                    raise self._bad("it does not tell the block status that it offered")
                return found

    def close(self, polite: bool) -> None:
        """Ends it; `polite` tells the server before."""
        try:
            if polite:
                self._channel.send(self._request(wire.CMD_DISC, 0, 0))
        except ImageFault:
            # It is as closed as it can be.
            return
        finally:
            self._channel.close()

    def _descriptors(self, data: bytearray, length: int) -> list[tuple[int, int]]:
        if wire.LONG.unpack_from(data)[0] != self.terms.context:
            raise self._bad("its block status is of another context")
        found = []
        for size, flags in wire.DESCRIPTOR.iter_unpack(memoryview(data)[wire.LONG.size :]):
            if size == 0 or length == 0:
                raise self._bad("its block status has an empty extent, or goes on beyond what was asked for")
            # The last one may tell of more than was asked for.
            found.append((min(size, length), flags))
            length -= found[-1][0]
        return found

    def _request(self, command: int, start: int, length: int) -> bytes:
        self._cookie += 1
        return wire.REQUEST.pack(wire.REQUEST_MAGIC, 0, command, self._cookie, start, length)

    def _take_simple(self, pieces: dict[int, _Piece]) -> None:
        magic, error, cookie = wire.SIMPLE_REPLY.unpack(self._channel.receive(wire.SIMPLE_REPLY.size))
        if magic != wire.SIMPLE_REPLY_MAGIC or cookie not in pieces:
            raise ValueError("a reply is none to any of our requests")
        piece = pieces.pop(cookie)
        if error:
            raise self._failed(error, f"bytes {piece.start} to {piece.start + len(piece.view)}")
        self._channel.receive_into(piece.view)

    def _take_chunk(self, pieces: dict[int, _Piece]) -> None:
        cookie, flags, kind, size = self._chunk(pieces.keys())
        piece = pieces[cookie]
        if kind == wire.CHUNK_DATA and size > wire.DATA_OFFSET.size:
            offset = wire.DATA_OFFSET.unpack(self._channel.receive(wire.DATA_OFFSET.size))[0]
            self._channel.receive_into(piece.part(offset, size - wire.DATA_OFFSET.size))
        elif kind == wire.CHUNK_HOLE and size == wire.HOLE.size:
            offset, length = wire.HOLE.unpack(self._channel.receive(size))
            part = piece.part(offset, length)
            part[:] = bytes(length)
        elif kind != wire.CHUNK_NONE or size or not flags & wire.CHUNK_DONE:
            raise ValueError(f"a chunk of type {kind} with {size} bytes answers a read")
        if flags & wire.CHUNK_DONE:
            piece.check()
            del pieces[cookie]

    def _chunk(self, cookies: Collection[int]) -> tuple[int, int, int, int]:
        """The head of the next chunk: cookie, flags, type and size. Errors are raised."""
        magic, flags, kind, cookie, size = wire.CHUNK.unpack(self._channel.receive(wire.CHUNK.size))
        if magic != wire.CHUNK_MAGIC or cookie not in cookies:
            raise self._bad("a reply is none to any of our requests")
        if kind & 1 << 15:
            if not wire.ERROR.size <= size <= wire.ERROR.size + _MOST_MESSAGE + wire.DATA_OFFSET.size:
                raise self._bad(f"an error has {size} bytes")
            raise self._failed(wire.ERROR.unpack_from(self._channel.receive(size))[0], "a request")
        return cookie, flags, kind, size

    def _failed(self, error: int, what: str) -> ImageFault:
        return ImageFault(
            str(self._address), "ServerError", f"{what} fails: {os.strerror(error)}", retry=error == wire.ESHUTDOWN
        )

    def _bad(self, why: str) -> ImageFault:
        return ImageFault(str(self._address), "BadAnswer", f"the server breaks the protocol: {why}")
