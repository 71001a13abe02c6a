"""NBD as strangers speak it: to the server in handshake and transmission, and to the client by a server."""

import contextlib
import io
import logging
import struct
from collections.abc import Callable, Iterator
from typing import Any

from ingot.images.content import Extent
from ingot.images.fault import ImageFault
from ingot.images.nbd import wire
from ingot.images.nbd.address import Address
from ingot.images.nbd.connection import Connection
from ingot.serve.catalog import Lease
from ingot.serve.handshake import Handshake
from ingot.serve.parallel import ParallelSession
from ingot.serve.replies import PIECE, SMALL
from ingot.serve.session import Agreed, Hangup, Session
from ingot.serve.tally import Tally

logging.disable()
_SIZE = PIECE * 2 + 77
_DISK = bytes(range(256)) * (_SIZE // 256 + 1)
_MOST_SENT = 64 << 20


class _Export:
    """A small disk that takes writes and forgets them, and takes note of what is asked for beyond its end: not all who
    ask let an error come out."""

    size, direct, pool, fetched = _SIZE, None, None, 0

    def __init__(self, writable: bool, near: bool = False) -> None:
        self.writable = writable
        self.near = self if near else None
        self.outside: list[tuple[int, int]] = []

    def readinto(self, start: int, view: memoryview) -> None:
        self._look(start, len(view))
        view[:] = _DISK[start : start + len(view)]

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        self._look(start, end - start)
        for begin in range(start, end, 70_000):
            yield Extent(begin, min(70_000, end - begin), begin % 3 > 0, begin)

    def ahead(self, start: int, length: int) -> None:
        self._look(start, length)

    def write(self, start: int, view: memoryview, through: bool) -> None:
        assert self.writable
        self._look(start, len(view))

    def zero(self, start: int, length: int, hole: bool, fast: bool) -> None:
        self.trim(start, length)

    def trim(self, start: int, length: int) -> None:
        assert self.writable
        self._look(start, length)

    def flush(self) -> None: ...

    def close(self) -> None: ...

    def _look(self, start: int, length: int) -> None:
        if not 0 <= start < start + length <= _SIZE:
            self.outside.append((start, length))
            raise AssertionError(f"{length} bytes at {start} of {_SIZE}")


class _Lease(Lease):
    name = "disk"

    def __init__(self, export: _Export) -> None:
        self.export = export

    def release(self) -> None: ...


class _Pool:
    """Does what is submitted at once, so that the same input does the same each time."""

    def submit(self, function: Callable[..., None], *arguments: Any) -> None:
        function(*arguments)


class _Catalog:
    def names(self) -> list[str]:
        return ["disk"]

    def take(self, name: str) -> Lease:
        if name != "disk":
            raise KeyError(name)
        return _Lease(_Export(writable=True))


class _Wire:
    """What the stranger sends, as a socket and as a transport; what it is sent is counted."""

    direct = False

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)
        self.sent = 0

    def recv_into(self, view: memoryview) -> int:
        return self._data.readinto(view)

    receive = glance = recv_into

    def sendall(self, data: bytes | memoryview) -> None:
        self.sent += len(data)
        if self.sent > _MOST_SENT:
            raise ConnectionResetError

    def send(self, data: bytes | memoryview, more: bool = False) -> None:
        self.sendall(data)

    def end(self) -> None: ...


class _Channel:
    """The same for our client."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def __call__(self, _address: Address) -> "_Channel":
        return self

    def hurry(self, seconds: float | None) -> None: ...

    def send(self, data: bytes | bytearray) -> None: ...

    def close(self) -> None: ...

    def receive(self, length: int) -> bytearray:
        assert length < 1 << 22
        data = bytearray(self._data.read(length))
        if len(data) < length:
            raise ImageFault("fuzz", "Disconnected", "it closed the connection", retry=True)
        return data

    def receive_into(self, view: memoryview) -> None:
        view[:] = self.receive(len(view))


def _framed(data: bytes, magic: bytes, size: int) -> bytes:
    """Pieces of that size, each with its magic number, where the first byte says so: most checks are behind it."""
    if not data[:1] or not data[0] & 2:
        return data[1:]
    return b"".join(magic + data[start : start + size] for start in range(1, len(data), size))


def _requests(data: bytes) -> bytes:
    """Good requests: one for every eight bytes, near to the disk's ends and to the sizes at which replies differ."""
    found = bytearray()
    for kind, flags, place, offset, span, length in struct.iter_unpack("<BBBhBH", data[: len(data) // 8 * 8]):
        command = _COMMANDS[kind % len(_COMMANDS)]
        start = max(_PLACES[place % len(_PLACES)] + offset, 0)
        asked = _SPANS[span % len(_SPANS)] + length % 512
        said = flags & 0x1F if flags > 200 else 0
        found += wire.REQUEST.pack(wire.REQUEST_MAGIC, said, command, kind, start, asked)
        if command == wire.CMD_WRITE:
            found += _DISK[:asked]
    return bytes(found)


def _handshake(data: bytes) -> None:
    """Options as they come; then good ones, and requests."""
    magic = wire.OPTION_MAGIC.to_bytes(8, "big") + bytes(3)
    _greet(_framed(data, magic, 40))
    _greet(b"".join(_OPTIONS[byte % len(_OPTIONS)] for byte in data[:4]) + _requests(data[4:]))


def _greet(said: bytes) -> None:
    stranger = _Wire(wire.CLIENT_FLAGS.pack(wire.FIXED_NEWSTYLE | wire.NO_ZEROES) + said)
    try:
        agreed = Handshake(stranger, _Catalog(), None, lambda begins: None).run()  # type: ignore[arg-type]
    except (Hangup, OSError):
        return
    if agreed is not None:
        _serve(Session(stranger, agreed, Tally()), agreed)  # type: ignore[arg-type]


def _transmission(data: bytes) -> None:
    """Requests as they come, and good ones, to both kinds of session."""
    structured, near = bool(data[0] & 1), bool(data[0] & 2)
    for said in (_framed(data, wire.REQUEST_MAGIC.to_bytes(4, "big"), wire.REQUEST.size - 4), _requests(data[1:])):
        agreed = Agreed(_Lease(_Export(writable=True)), structured, 1 if structured else None)
        _serve(Session(_Wire(said), agreed, Tally()), agreed)  # type: ignore[arg-type]
        agreed = Agreed(_Lease(_Export(writable=False, near=near)), structured, 1 if structured else None)
        _serve(ParallelSession(_Wire(said), agreed, Tally(), _Pool()), agreed)  # type: ignore[arg-type]


def _serve(session: Session, agreed: Agreed) -> None:
    with contextlib.suppress(Hangup, OSError):
        session.run()
    assert not agreed.lease.export.outside  # type: ignore[attr-defined]


def _client(data: bytes) -> None:
    said = _framed(data, wire.CHUNK_MAGIC.to_bytes(4, "big"), wire.CHUNK.size - 4)
    # A good handshake goes before, where the first byte says so: what is behind it is reached sooner.
    if data[:1] and data[0] & 1:
        said = _good_handshake() + said
    try:
        connection = Connection(Address("disk"), _Channel(said))  # type: ignore[arg-type]
        size = min(connection.terms.size, 1 << 16)
        buffer = bytearray(size)
        connection.read(0, memoryview(buffer))
        if connection.terms.context is not None:
            found = connection.status(0, size)
            assert sum(length for length, _ in found) <= size
    except ImageFault:
        return


def _good_handshake() -> bytes:
    def reply(option: int, kind: int, data: bytes = b"") -> bytes:
        return wire.OPTION_REPLY.pack(wire.OPTION_REPLY_MAGIC, option, kind, len(data)) + data

    return b"".join(
        (
            wire.GREETING.pack(wire.INIT_MAGIC, wire.OPTION_MAGIC, wire.FIXED_NEWSTYLE | wire.NO_ZEROES),
            reply(wire.OPT_STRUCTURED_REPLY, wire.REP_ACK),
            reply(wire.OPT_SET_META_CONTEXT, wire.REP_META_CONTEXT, wire.LONG.pack(1) + wire.BASE_ALLOCATION),
            reply(wire.OPT_SET_META_CONTEXT, wire.REP_ACK),
            reply(wire.OPT_GO, wire.REP_INFO, wire.EXPORT_INFO.pack(wire.INFO_EXPORT, 4096, wire.HAS_FLAGS)),
            reply(wire.OPT_GO, wire.REP_ACK),
        )
    )


def _option(option: int, data: bytes = b"") -> bytes:
    return wire.OPTION.pack(wire.OPTION_MAGIC, option, len(data)) + data


_NAMED = wire.LONG.pack(4) + b"disk"
_OPTIONS = (
    _option(wire.OPT_GO, _NAMED + wire.SHORT.pack(0)),
    _option(wire.OPT_STRUCTURED_REPLY),
    _option(
        wire.OPT_SET_META_CONTEXT,
        _NAMED + wire.LONG.pack(1) + wire.LONG.pack(len(wire.BASE_ALLOCATION)) + wire.BASE_ALLOCATION,
    ),
    _option(wire.OPT_EXPORT_NAME, b"disk"),
    _option(wire.OPT_LIST),
    _option(wire.OPT_INFO, _NAMED + wire.SHORT.pack(0)),
)
_COMMANDS = (
    *(wire.CMD_READ,) * 4,
    *(wire.CMD_WRITE,) * 2,
    wire.CMD_TRIM,
    wire.CMD_CACHE,
    wire.CMD_WRITE_ZEROES,
    *(wire.CMD_BLOCK_STATUS,) * 2,
    wire.CMD_FLUSH,
    wire.CMD_DISC,
    99,
)
_PLACES = (0, _SIZE, _SIZE // 2, _SIZE - SMALL, (1 << 64) - (1 << 16))
_SPANS = (0, SMALL - 256, PIECE - 256, _SIZE - 256, wire.MOST_REQUEST, (1 << 32) - 512)
_SPEAKERS = (_handshake, _transmission, _client)


def one_input(data: bytes) -> None:
    for speak in _SPEAKERS if data else ():
        speak(data)
