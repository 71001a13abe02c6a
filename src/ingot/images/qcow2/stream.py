"""The disk in a qcow2 that arrives from front to back, as in a compressed layer."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

from ingot.images.fault import ImageFault
from ingot.images.qcow2.arrivals import ENDLESS, Arrivals
from ingot.images.qcow2.checkpoint import Checkpoint, bad_checkpoint
from ingot.images.qcow2.clusters import Unpacker
from ingot.images.qcow2.entries import Kind, Run
from ingot.images.qcow2.forecast import Forecast, gaps
from ingot.images.qcow2.header import HEAD, MOST_BYTES, SECTOR, Header
from ingot.images.qcow2.spool import Spool
from ingot.images.qcow2.stale import stale
from ingot.images.qcow2.tables import check_head

Write = Callable[[int, memoryview], None]
# What is worked on at once: a multiple of every cluster size.
_WINDOW = 2 << 20
# The longest compressed cluster; its beginning waits for its end.
_LONGEST = 4 << 20
# Runs take about 200 bytes each. Tables that would make more of them known at once are left for the end.
_MOST_EXPECTED = 1 << 19


class Qcow2Stream:
    """Decodes a qcow2 that is fed to it piece by piece, in any sizes.

    Bytes whose place on the disk is known go to `write(place, bytes)` at once, which must not keep them; others, and
    the tables, wait in the sparse file `spool` until `finish`. All that is never written is zeros. QEMU's own tools put
    each table before its data, so that little waits; images with a history may wait as a whole.

    `state` at any time is enough for `resume` in a later process, with the same spool; bytes are then fed from
    `position` on. What was written after that state is written again, unless it is `stale` only. The caller removes
    the spool when the disk is safe. All methods raise ImageFault for an image that `Qcow2` would not read either, and
    OSError of the spool.
    """

    def __init__(self, write: Write, spool: Path, *, subject: str = "the qcow2 image", limit: int = MOST_BYTES) -> None:
        """`limit` is the largest disk that is accepted, in bytes; `subject` names the image in errors."""
        self._begin(write, Spool.create(spool), subject, limit)

    def _begin(self, write: Write, spool: Spool, subject: str, limit: int) -> None:
        self.header: Header | None = None
        self.position = 0
        self._write = write
        self._spool = spool
        self._subject = subject
        self._limit = limit
        self._buffer = memoryview(bytearray(_LONGEST + _WINDOW))
        # The buffer has the bytes of the file from `_base` to `position`; those before `_done` have been dealt with.
        self._base = 0
        self._done = 0
        self._forecast = Forecast()
        self._behind: set[int] = set()
        self._deferred: set[int] = set()

    @classmethod
    def resume(
        cls, state: bytes, write: Write, spool: Path, *, subject: str = "the qcow2 image", limit: int = MOST_BYTES
    ) -> Self:
        """Goes on where `state` was taken. Raises ImageFault BadCheckpoint when it does not fit: begin again."""
        told = Checkpoint.decode(state, subject)
        made = cls.__new__(cls)
        made._begin(write, told.spool(spool, subject), subject, limit)
        made._restore(told)
        return made

    def stale(self) -> Iterator[tuple[int, int]]:
        """Ranges of the disk that were not written for good when the state was taken that this goes on from. They must
        be made zeros before more is fed: perhaps they were written later, from bytes that come no more."""
        return stale(self._arrivals if self.header else None, self._deferred, self._done, self._base)

    @property
    def size(self) -> int | None:
        """How many bytes the disk has; None until the header has come."""
        return self.header.size if self.header else None

    @property
    def spooled(self) -> int:
        """How many bytes have been put aside."""
        return self._spool.total

    def feed(self, data: bytes | bytearray | memoryview) -> None:
        """The next bytes of the file."""
        rest = memoryview(data)
        while len(rest):
            count = min(len(rest), self._done + _WINDOW - self.position)
            at = self.position - self._base
            self._buffer[at : at + count] = rest[:count]
            self.position += count
            rest = rest[count:]
            if self.header is None and self.position >= HEAD:
                self._read_header()
            if self.position == self._done + _WINDOW:
                self._work(self.position)
                self._drop()

    def finish(self) -> None:
        """The file has ended: what was put aside is written."""
        if self.header is None:
            self._read_header()
        self._work(self.position)
        self._arrivals.know_end(self.position)
        self._work_tables()
        if not self._arrivals.complete:
            raise self._truncated("some of its tables")
        for run in self._forecast:
            self._write_last(run)
        for index in sorted(self._behind | self._deferred):
            border = ENDLESS if index in self._deferred else self._arrivals.border(index)
            for run in self._arrivals.runs(index):
                if run.kind and run.host < border:
                    self._write_spooled(run, border)

    def state(self) -> bytes:
        """What `resume` needs. It counts after a failure of power only if `sync` is called then."""
        self._spool.keep(self._base, self._bytes(self._base, self.position))
        return Checkpoint.of(self.position, self._done, self._base, self._spool, self._deferred).encode()

    def note(self, lasting: bool) -> None:
        """As Spool.note: for the oldest `state` that was not noted yet."""
        self._spool.note(lasting)

    def sync(self) -> None:
        """Returns when the spool is on disk."""
        self._spool.sync()

    def close(self) -> None:
        """Closes the spool; its file stays."""
        self._spool.close()

    def _restore(self, told: Checkpoint) -> None:
        if told.position - told.done >= _WINDOW or told.position - told.base > len(self._buffer):
            raise bad_checkpoint(self._subject, "it was written by another version")
        self.position, self._done, self._base = told.position, told.done, told.base
        self._deferred = set(told.deferred)
        kept = self._spool.kept(told.base, told.position - told.base)
        self._buffer[: len(kept)] = kept
        if self.position >= HEAD:
            self._set_header(bytes(self._spool.kept(0, HEAD)))
            for index in self._arrivals.arrive(self._done):
                if index not in self._deferred:
                    self._expect(index)

    def _read_header(self) -> None:
        self._set_header(bytes(self._bytes(0, min(HEAD, self.position))))

    def _set_header(self, head: bytes) -> None:
        self.header = check_head(head, self._subject, self._limit)
        self._arrivals = Arrivals(self._subject, self.header, self._spool)
        self._unpacker = Unpacker(self._subject, self.header)
        self._cluster = memoryview(bytearray(self.header.cluster_size))

    def _bytes(self, start: int, end: int) -> memoryview:
        return self._buffer[start - self._base : end - self._base]

    def _work(self, end: int) -> None:
        """Deals with all bytes before `end`."""
        while self._done < end:
            stop, aside = self._arrivals.cut(self._done, end)
            if aside:
                self._spool.add(self._done, self._bytes(self._done, stop))
            else:
                self._place(self._done, stop)
            self._done = stop
            self._work_tables()

    def _work_tables(self) -> None:
        for index in self._arrivals.arrive(self._done):
            if len(self._forecast) > _MOST_EXPECTED:
                self._deferred.add(index)
            else:
                self._expect(index)

    def _drop(self) -> None:
        """Lets go of what is dealt with, but for compressed clusters that have come in part."""
        oldest = self._forecast.oldest
        base = self._done if oldest is None else min(oldest, self._done)
        kept = self._bytes(base, self._done)
        self._buffer[: len(kept)] = kept
        self._base = base

    def _expect(self, index: int) -> None:
        """Learns from an L2 table where bytes go that have not been dealt with; which of them come too late."""
        border = self._arrivals.border(index)
        for run in self._arrivals.runs(index):
            if not run.kind:
                continue
            if run.host < border:
                self._behind.add(index)
            if run.kind is Kind.COMPRESSED:
                if run.host >= max(border, self._base):
                    self._forecast.add(run)
            elif (late := max(border, self._done) - run.host) < run.length:
                self._forecast.add(run if late <= 0 else run.after(late))

    def _place(self, start: int, stop: int) -> None:
        wanted = [(run.host, self._deliver(run, start, stop)) for run in self._forecast.take(stop)]
        if not self._arrivals.complete or self._deferred:
            for first, end in gaps(wanted, start, stop):
                self._spool.add(first, self._bytes(first, end))

    def _deliver(self, run: Run, start: int, stop: int) -> int:
        """Writes what is there of a run; how far in the file it goes for sure."""
        end = run.host + run.stored
        if run.kind is Kind.COMPRESSED and end <= self.position:
            # Its length was known in sectors only: something else may be behind it in the last of them.
            return run.host + self._write_packed(run, self._bytes(run.host, end))
        if run.kind is Kind.PLAIN:
            first = max(run.host, start)
            self._write(run.start + first - run.host, self._bytes(first, min(end, stop)))
        if end > stop:
            self._forecast.give_back(run)
        return min(end, stop)

    def _write_packed(self, run: Run, packed: memoryview) -> int:
        count = self._unpacker.unpack(packed, self._cluster)
        self._write(run.start, self._cluster[: run.length])
        return count

    def _write_last(self, run: Run) -> None:
        """A run that the end of the file has cut: its last bytes are zeros, if only the last cluster is cut."""
        assert self.header is not None
        end = self.position
        if run.kind is Kind.COMPRESSED and run.host < end and run.host + run.stored <= -(-end // SECTOR) * SECTOR:
            packed = bytearray(self._bytes(run.host, end)).ljust(run.stored, b"\0")
            self._write_packed(run, memoryview(packed))
        elif run.kind is Kind.COMPRESSED or run.host >= end or run.host + run.stored - end >= self.header.cluster_size:
            raise self._truncated(f"the disk's bytes from {run.start} on")

    def _truncated(self, what: str) -> ImageFault:
        message = f"the file is cut off: it ends at byte {self.position}, and lacks {what}; take a whole copy of it"
        return ImageFault(self._subject, "Truncated", message)

    def _write_spooled(self, run: Run, border: int) -> None:
        """A run, before `border` of the file, whose bytes came before it was known where they go."""
        if run.kind is Kind.COMPRESSED:
            packed = self._spooled(run.host, min(run.stored, self.position - run.host))
            self._write_packed(run, memoryview(packed.ljust(run.stored, b"\0")))
            return
        end = min(run.host + run.length, border, self.position)
        for at in range(run.host, end, _WINDOW):
            self._write(run.start + at - run.host, memoryview(self._spooled(at, min(_WINDOW, end - at))))

    def _spooled(self, start: int, length: int) -> bytearray:
        if not self._spool.has(start, length):
            message = f"two of its tables want its bytes from {start} on, and the first has them: it is damaged"
            raise ImageFault(self._subject, "Overlapping", message)
        return self._spool.kept(start, length)
