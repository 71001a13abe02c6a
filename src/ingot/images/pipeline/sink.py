"""What becomes of a stream's bytes on their way to the target: raw disks are written as they come, others decoded."""

import os
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Protocol

from ingot.images.disk import open_disk
from ingot.images.fault import ImageFault
from ingot.images.own_file import create_own
from ingot.images.pipeline.bounds import Bounds
from ingot.images.pipeline.copier import copy
from ingot.images.pipeline.material import PACKED, empty
from ingot.images.pipeline.target import FileTarget
from ingot.images.pipeline.writer import Writer
from ingot.images.qcow2.arrivals import ENDLESS
from ingot.images.qcow2.stream import Qcow2Stream
from ingot.images.sniff import refuse

Write = Callable[[int, memoryview], None]
RAW = ("raw", "iso")


class Sink(Protocol):
    """Takes the bytes of an image in order, and writes those of the disk that is in it."""

    @property
    def spooled(self) -> int:
        """Bytes that had to be put aside so far."""

    def stale(self) -> Iterable[tuple[int, int]]:
        """What of the target an earlier sink may have written after the state that this one goes on from: it is to be
        zeros before the first bytes come."""

    def feed(self, data: memoryview) -> None:
        """Takes the next bytes. Raises ImageFault and OSError."""

    def finish(self) -> int:
        """Writes what is left at the end; the size of the disk. Raises ImageFault and OSError."""

    def state(self) -> bytes | None:
        """All that is needed to go on, between two calls of `feed`; None where that is impossible."""

    def note(self, lasting: bool) -> None:
        """The oldest state that was not noted is in the journal; `lasting`: also as the one for after the loss of the
        machine. For any thread."""

    def sync(self) -> None:
        """Returns when what was put aside is on the disk."""

    def close(self) -> None:
        """Lets go of what was put aside; it stays, for a later process to go on."""


class RawSink:
    """A raw disk, from where `state` was taken on."""

    spooled = 0

    def __init__(self, subject: str, write: Write, bounds: Bounds, state: bytes = b"") -> None:
        self._subject = subject
        self._write = write
        self._bounds = bounds
        self._position = int.from_bytes(state, "big")

    def stale(self) -> Iterable[tuple[int, int]]:
        return [(self._position, ENDLESS)]

    def feed(self, data: memoryview) -> None:
        self._bounds.check(self._position + len(data))
        self._write(self._position, data)
        self._position += len(data)

    def finish(self) -> int:
        if not self._position:
            raise empty(self._subject)
        return self._position

    def state(self) -> bytes:
        return self._position.to_bytes(8, "big")

    def note(self, lasting: bool) -> None:
        """Nothing is put aside."""

    def sync(self) -> None:
        """Nothing is put aside."""

    def close(self) -> None:
        """Nothing is put aside."""


class Qcow2Sink:
    """The disk in a qcow2, from where `state` was taken on; what has to wait is in the file `spool`."""

    def __init__(self, subject: str, write: Write, bounds: Bounds, spool: Path, state: bytes = b"") -> None:
        """Raises ImageFault when the state does not fit."""
        limit = bounds.most
        if state:
            self._stream = Qcow2Stream.resume(state, write, spool, subject=subject, limit=limit)
        else:
            self._stream = Qcow2Stream(write, spool, subject=subject, limit=limit)

    @property
    def spooled(self) -> int:
        return self._stream.spooled

    def stale(self) -> Iterable[tuple[int, int]]:
        return self._stream.stale()

    def feed(self, data: memoryview) -> None:
        self._stream.feed(data)

    def finish(self) -> int:
        self._stream.finish()
        assert self._stream.size is not None
        return self._stream.size

    def state(self) -> bytes:
        return self._stream.state()

    def note(self, lasting: bool) -> None:
        self._stream.note(lasting)

    def sync(self) -> None:
        self._stream.sync()

    def close(self) -> None:
        self._stream.close()


class ForeignSink:
    """A disk in a format that only QEMU knows: all of it has to be there first, in the file `spool`, before it can be
    written to the target. An import that is killed meanwhile begins anew."""

    def __init__(self, subject: str, write: Write, bounds: Bounds, spool: Path, format: str) -> None:
        """Raises OSError."""
        self._subject = subject
        self._write = write
        self._bounds = bounds
        self._path = spool
        self._format = format
        self._descriptor = create_own(spool)
        self._file = FileTarget(self._descriptor)
        self._writer = Writer(self._file)
        self.spooled = 0

    def stale(self) -> Iterable[tuple[int, int]]:
        return [(0, ENDLESS)]

    def feed(self, data: memoryview) -> None:
        self._writer.put(self.spooled, data)
        self.spooled += len(data)

    def finish(self) -> int:
        self._writer.finish()
        os.ftruncate(self._descriptor, self.spooled)
        with closing(open_disk(self._path, self._format, subject=self._subject, limit=self._bounds.most)) as content:
            self._bounds.check(content.size)
            copy(content, self._subject, self._write)
            return content.size

    def state(self) -> None:
        return None

    def note(self, lasting: bool) -> None:
        """It has no state."""

    def sync(self) -> None:
        """Nobody goes on with it."""

    def close(self) -> None:
        self._writer.close()
        self._file.close()
        os.close(self._descriptor)
        self._path.unlink(missing_ok=True)


def open_sink(format: str, subject: str, write: Write, bounds: Bounds, spool: Path, state: bytes = b"") -> Sink:
    """The sink for an image of a format, as `sniff` has it; from where `state` was taken on. Raises ImageFault for one
    that cannot be decoded or a state that does not fit, and OSError of the spool."""
    if format in RAW:
        return RawSink(subject, write, bounds, state)
    if format == "qcow2":
        return Qcow2Sink(subject, write, bounds, spool, state)
    check_disk(format, subject)
    return ForeignSink(subject, write, bounds, spool, format)


def check_disk(format: str, subject: str) -> None:
    """Raises ImageFault for a format that no disk has."""
    refuse(format, subject)
    if format in PACKED:
        raise ImageFault(subject, "BadFormat", f"its disk is {format} once more: unpack it before")
