"""The disk in a qcow2 image, read at any place."""

import threading
from collections.abc import Iterable, Iterator

from ingot.images.content import Content, Extent
from ingot.images.fault import ImageFault
from ingot.images.qcow2.clusters import Unpacker
from ingot.images.qcow2.entries import Kind, Run
from ingot.images.qcow2.header import MOST_BYTES, Header
from ingot.images.qcow2.kept import Kept
from ingot.images.qcow2.tables import Tables

# Compressed clusters that lie together are read together, up to this much, which fits a processor's cache.
_MOST_READ = 1 << 20
# Reading over a gap costs less than reading twice.
_GAP = 1 << 15
# What lies this near in the file is told as one extent: those who compress in parallel write clusters in about the
# order of the disk, not quite.
_NEAR = 1 << 20
# Smaller holes of the file are not worth an extent.
_LEAST_HOLE = 1 << 16
_ZEROS = memoryview(bytes(1 << 20))


class Qcow2:
    """The disk that is in the qcow2 image `content`, which is closed with it. `subject` names it in errors.

    The tables of a hostile image are checked before they are followed; whatever they say, a read does no more work than
    the bytes it asks for. The result is what QEMU would read, or an ImageFault.
    """

    def __init__(self, content: Content, subject: str = "the qcow2 image", limit: int = MOST_BYTES) -> None:
        """Reads the header and the L1 table. Raises ImageFault, also when the disk has more than `limit` bytes."""
        self._content = content
        self._subject = subject
        self._tables = Tables(content, subject, limit)
        self._unpacker = Unpacker(subject, self.header)
        self._kept = Kept(self.header.cluster_size)
        self._own = threading.local()

    @property
    def header(self) -> Header:
        return self._tables.header

    @property
    def size(self) -> int:
        return self.header.size

    def readinto(self, start: int, buffer: memoryview) -> None:
        if start + len(buffer) > self.size:
            message = f"bytes up to {start + len(buffer)} are wanted of its disk, which has {self.size}"
            raise ImageFault(self._subject, "Truncated", message)
        packed = []
        for run in self._tables.runs(start, start + len(buffer)):
            part = buffer[run.start - start : run.start - start + run.length]
            if run.kind is Kind.ZERO:
                _clear(part)
            elif run.kind is Kind.PLAIN:
                self._read_plain(run.host, part)
            elif run.length < self.header.cluster_size and (cluster := self._kept.get(run.host)):
                _copy(cluster, run, part)
            else:
                packed.append(run)
        for together in _neighbours(packed):
            self._read_packed(together, start, buffer)

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        # One loop and no object for each cluster: there may be millions.
        begin, data, stored, reach = start, False, 0, 0
        for at, _, kind, host, taken in self._runs(start, end):
            near = not kind or -_NEAR <= host - reach <= _NEAR
            if at > begin and not (near and data is (kind > 0)):
                yield Extent(begin, at - begin, data, stored)
                begin = at
            if at == begin:
                data, stored, reach = kind > 0, host, host
            stored, reach = min(stored, host), max(reach, host + taken)
        if end > begin:
            yield Extent(begin, end - begin, data, stored)

    def close(self) -> None:
        self._content.close()

    def _runs(self, start: int, end: int) -> Iterator[Run]:
        """What is there, less what the file knows to be zeros: a preallocated image is all clusters and many holes."""
        for run in self._tables.runs(start, end):
            if run.kind is not Kind.PLAIN:
                yield run
                continue
            there = min(run.host + run.length, self._content.size)
            for below in self._content.extents(run.host, there):
                at = run.start + below.start - run.host
                if below.data or below.length < _LEAST_HOLE:
                    yield Run(at, below.length, Kind.PLAIN, below.start, below.length)
                else:
                    yield Run(at, below.length, Kind.ZERO, 0, 0)
            if rest := run.host + run.length - there:
                yield Run(run.start + run.length - rest, rest, Kind.ZERO, 0, 0)

    def _read_plain(self, host: int, part: memoryview) -> None:
        """The last cluster of a file may be cut where only zeros follow."""
        there = min(len(part), self._content.size - host)
        self._content.readinto(host, part[:there])
        _clear(part[there:])

    def _read_packed(self, runs: list[Run], start: int, buffer: memoryview) -> None:
        first, end = runs[0].host, max(run.host + run.stored for run in runs)
        scratch = self._scratch(end - first)
        self._read_plain(first, scratch)
        for run in runs:
            source = scratch[run.host - first : run.host - first + run.stored]
            part = buffer[run.start - start : run.start - start + run.length]
            if run.length == self.header.cluster_size:
                self._unpacker.unpack(source, part)
                continue
            cluster = bytearray(self.header.cluster_size)
            self._unpacker.unpack(source, memoryview(cluster))
            self._kept.put(run.host, cluster)
            _copy(cluster, run, part)

    def _scratch(self, size: int) -> memoryview:
        """Memory of this thread, until its next call."""
        kept: bytearray | None = getattr(self._own, "scratch", None)
        if kept is None or len(kept) < size:
            kept = self._own.scratch = bytearray(max(size, _MOST_READ))
        return memoryview(kept)[:size]


def _neighbours(runs: list[Run]) -> Iterable[list[Run]]:
    """Compressed clusters in groups that one read gets."""
    runs.sort(key=lambda run: run.host)
    group: list[Run] = []
    reach = 0
    for run in runs:
        if group and (run.host > reach + _GAP or run.host + run.stored > group[0].host + _MOST_READ):
            yield group
            group = []
        reach = max(reach, run.host + run.stored) if group else run.host + run.stored
        group.append(run)
    if group:
        yield group


def _copy(cluster: bytearray, run: Run, part: memoryview) -> None:
    """Fills what a run wants of an unpacked cluster."""
    inside = run.start % len(cluster)
    part[:] = memoryview(cluster)[inside : inside + run.length]


def _clear(part: memoryview) -> None:
    for at in range(0, len(part), len(_ZEROS)):
        piece = part[at : at + len(_ZEROS)]
        piece[:] = _ZEROS[: len(piece)]
