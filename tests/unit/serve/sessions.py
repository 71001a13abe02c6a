"""Clients in transmission without a network: what they say, and what they are told."""

import errno
import io
import os
from collections.abc import Iterator

from ingot.images.content import Extent
from ingot.images.fault import ImageFault
from ingot.images.nbd import wire
from ingot.serve.catalog import Lease
from ingot.serve.replies import PIECE
from ingot.serve.session import Agreed, Session
from ingot.serve.tally import Tally

SIZE = 3 * PIECE + 5
DATA = os.urandom(SIZE)
BAD = 2 * PIECE + 1


class Memory:
    """A disk in memory, of which one byte cannot be read."""

    writable, direct, pool, near, fetched = True, None, None, None, 0

    def __init__(self) -> None:
        self.data = bytearray(DATA)
        self.size = SIZE
        self.done: list[tuple[object, ...]] = []

    def readinto(self, start: int, view: memoryview) -> None:
        if start <= BAD < start + len(view):
            raise ImageFault("memory", "Broken", "it is broken there")
        view[:] = self.data[start : start + len(view)]

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        for begin in range(start, end, 1000):
            yield Extent(begin, min(1000, end - begin), begin // 2000 % 2 == 0, begin)

    def ahead(self, start: int, length: int) -> None:
        self.done.append(("ahead", start, length))

    def write(self, start: int, view: memoryview, through: bool) -> None:
        if start == 66:
            raise OSError(errno.ENOSPC, "full")
        self.data[start : start + len(view)] = view
        self.done.append(("write", start, len(view), through))

    def zero(self, start: int, length: int, hole: bool, fast: bool) -> None:
        if fast:
            raise OSError(errno.EOPNOTSUPP, "not fast")
        self.done.append(("zero", start, length, hole))

    def trim(self, start: int, length: int) -> None:
        self.done.append(("trim", start, length))

    def flush(self) -> None:
        self.done.append(("flush",))

    def close(self) -> None: ...


class Held(Lease):
    """A lease of something that no catalog knows."""

    def __init__(self, export: object) -> None:
        self.export = export  # type: ignore[assignment]
        self.name = "disk"


class Pipe:
    """A transport: all that the client says, in pieces of a size, and what it is told."""

    direct = False

    def __init__(self, said: bytes, step: int = 1 << 20) -> None:
        self._said = io.BytesIO(said)
        self._step = step
        self.told = bytearray()

    def receive(self, view: memoryview) -> int:
        return self._said.readinto(view[: self._step])

    glance = receive

    def send(self, data: bytes | memoryview, more: bool = False) -> None:
        self.told += data

    def end(self) -> None: ...


def request(command: int, start: int = 0, length: int = 0, flags: int = 0, cookie: int = 7, data: bytes = b"") -> bytes:
    return wire.REQUEST.pack(wire.REQUEST_MAGIC, flags, command, cookie, start, length) + data


def talk(*said: bytes, structured: bool = True, export: Memory | None = None, step: int = 1 << 20) -> bytes:
    """What the client is told."""
    pipe = Pipe(b"".join(said), step)
    Session(pipe, Agreed(Held(export or Memory()), structured, 1 if structured else None), Tally()).run()
    return bytes(pipe.told)


def chunks(told: bytes) -> Iterator[tuple[int, int, int, bytes]]:
    """Cookie, type, flags and payload."""
    while told:
        magic, flags, kind, cookie, length = wire.CHUNK.unpack_from(told)
        assert magic == wire.CHUNK_MAGIC
        yield cookie, kind, flags, told[wire.CHUNK.size : wire.CHUNK.size + length]
        told = told[wire.CHUNK.size + length :]
