"""NBD as strangers speak it: to the server in handshake and transmission, and to the client by a server."""

import io
import logging
from collections.abc import Iterator

from ingot.images.content import Extent
from ingot.images.fault import ImageFault
from ingot.images.nbd import wire
from ingot.images.nbd.address import Address
from ingot.images.nbd.connection import Connection
from ingot.serve.catalog import Lease
from ingot.serve.handshake import Handshake
from ingot.serve.replies import PIECE
from ingot.serve.session import Agreed, Hangup, Session
from ingot.serve.tally import Tally

logging.disable()
_SIZE = PIECE * 2 + 77
_DISK = bytes(range(256)) * (_SIZE // 256 + 1)
_MOST_SENT = 64 << 20


class _Export:
    """A small disk that takes writes and forgets them."""

    size, writable, direct, pool, near, fetched = _SIZE, True, None, None, None, 0

    def readinto(self, start: int, view: memoryview) -> None:
        assert start + len(view) <= _SIZE
        view[:] = _DISK[start : start + len(view)]

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        assert 0 <= start < end <= _SIZE
        for begin in range(start, end, 70_000):
            yield Extent(begin, min(70_000, end - begin), begin % 3 > 0, begin)

    def ahead(self, start: int, length: int) -> None:
        assert start + length <= _SIZE

    def write(self, start: int, view: memoryview, through: bool) -> None:
        assert start + len(view) <= _SIZE

    def zero(self, start: int, length: int, hole: bool, fast: bool) -> None:
        assert start + length <= _SIZE

    trim = ahead

    def flush(self) -> None: ...

    def close(self) -> None: ...


class _Lease(Lease):
    name = "disk"
    export = _Export()

    def __init__(self) -> None: ...

    def release(self) -> None: ...


class _Catalog:
    def names(self) -> list[str]:
        return ["disk"]

    def take(self, name: str) -> Lease:
        if name != "disk":
            raise KeyError(name)
        return _Lease()


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


def _handshake(data: bytes) -> None:
    flags = wire.CLIENT_FLAGS.pack(wire.FIXED_NEWSTYLE | wire.NO_ZEROES)
    magic = wire.OPTION_MAGIC.to_bytes(8, "big") + bytes(3)
    stranger = _Wire(flags + _framed(data, magic, 40))
    try:
        agreed = Handshake(stranger, _Catalog(), None, lambda begins: None).run()  # type: ignore[arg-type]
    except (Hangup, OSError):
        return
    if agreed is not None:
        Session(stranger, agreed, Tally())  # type: ignore[arg-type]


def _transmission(data: bytes) -> None:
    structured = bool(data[:1] and data[0] & 1)
    stranger = _Wire(_framed(data, wire.REQUEST_MAGIC.to_bytes(4, "big"), wire.REQUEST.size - 4))
    agreed = Agreed(_Lease(), structured, 1 if structured else None)
    session = Session(stranger, agreed, Tally())  # type: ignore[arg-type]
    try:
        session.run()
    except (Hangup, OSError):
        return


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


_SPEAKERS = (_handshake, _transmission, _client)


def one_input(data: bytes) -> None:
    if data:
        _SPEAKERS[data[0] % len(_SPEAKERS)](data[1:])
