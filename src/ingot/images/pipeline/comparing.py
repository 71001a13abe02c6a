"""A disk of this machine beside one that arrives as a stream."""

from collections.abc import Callable, Iterator
from contextlib import closing

from ingot.host.scratch import ScratchDirectory
from ingot.images.content import Content, read
from ingot.images.pipeline.bounds import Bounds
from ingot.images.pipeline.sink import open_sink
from ingot.images.sniff import HEAD, sniff
from ingot.images.stream import Stream

Progress = Callable[[int, int], None]
_UNIT = 4 << 20


def difference_of_stream(local: Content, stream: Stream, progress: Progress) -> int | None:
    """The first byte in which a disk differs from the one in a stream, which is read to its end and so verified; None
    where they are the same. What has to wait on the way is put aside in a scratch directory. Raises ImageFault, and
    OSError when there is no room for that."""
    comparing = _Comparing(local)
    with closing(ScratchDirectory("ingot-verify-")) as scratch:
        format, spool = sniff(stream.head(HEAD)), scratch.path / "spool"
        with closing(open_sink(format, stream.subject, comparing.put, Bounds(stream.subject), spool)) as sink:
            for data in stream:
                sink.feed(data)
                progress(stream.fetched, stream.total)
            return comparing.finish(sink.finish())


class _Comparing:
    """Takes the bytes of the other disk in any order."""

    def __init__(self, local: Content) -> None:
        self._local = local
        self._first: int | None = None
        self._taken: list[tuple[int, int]] = []

    def put(self, start: int, data: memoryview) -> None:
        end = max(start, min(start + len(data), self._local.size))
        for at in range(start, end, _UNIT):
            other = data[at - start : min(at + _UNIT, end) - start]
            own = read(self._local, at, len(other))
            if own != other:
                self._found(at + next(place for place, byte in enumerate(own) if byte != other[place]))
        if self._taken and self._taken[-1][1] == start:
            start = self._taken.pop()[0]
        self._taken.append((start, end))

    def finish(self, size: int) -> int | None:
        """All of the other disk's `size` bytes that did not come are zeros."""
        common = min(size, self._local.size)
        for start, end in _gaps(self._taken, common):
            self._expect_zeros(start, end)
        if size != self._local.size:
            self._found(common)
        return self._first

    def _expect_zeros(self, start: int, end: int) -> None:
        for extent in self._local.extents(start, end):
            for at in range(extent.start, extent.end, _UNIT) if extent.data else ():
                own = read(self._local, at, min(_UNIT, extent.end - at))
                if own.count(0) != len(own):
                    self._found(at + len(own) - len(own.lstrip(b"\0")))
                    return

    def _found(self, place: int) -> None:
        self._first = place if self._first is None else min(self._first, place)


def _gaps(taken: list[tuple[int, int]], size: int) -> Iterator[tuple[int, int]]:
    """What is between ranges that may overlap and are in any order."""
    behind = 0
    for start, end in [*sorted(taken), (size, size)]:
        if behind < min(start, size):
            yield behind, min(start, size)
        behind = max(behind, end)
