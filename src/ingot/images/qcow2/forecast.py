"""Where the bytes of a qcow2 that are still to come go to, by the tables that have come."""

import heapq
from collections.abc import Iterator

from ingot.images.qcow2.entries import Kind, Run
from ingot.images.qcow2.header import SECTOR


class Forecast:
    """Runs whose bytes are expected, first those that come first. Two may want the same bytes."""

    def __init__(self) -> None:
        self._coming: list[tuple[int, Run]] = []
        self._current: list[Run] = []

    def __len__(self) -> int:
        return len(self._coming) + len(self._current)

    def __iter__(self) -> Iterator[Run]:
        """All of them, in no order."""
        yield from self._current
        yield from (run for _, run in self._coming)

    def add(self, run: Run) -> None:
        heapq.heappush(self._coming, (run.host, run))

    def take(self, stop: int) -> list[Run]:
        """Those that begin before byte `stop` of the file, by their beginning. What is not done is given back."""
        taken, self._current = self._current, []
        while self._coming and self._coming[0][0] < stop:
            taken.append(heapq.heappop(self._coming)[1])
        return taken

    def give_back(self, run: Run) -> None:
        """A run that `take` gave and that goes on behind `stop`. They come in the order of `take`."""
        self._current.append(run)

    @property
    def oldest(self) -> int | None:
        """The first byte that a compressed cluster which was given back still needs."""
        return min((run.host for run in self._current if run.kind is Kind.COMPRESSED), default=None)


def gaps(wanted: list[tuple[int, int]], start: int, stop: int) -> Iterator[tuple[int, int]]:
    """What of the file from `start` to `stop` is in no wanted range; these are in the order of their beginnings.

    A gap goes on to the end of its sector: a compressed cluster in it is read in whole sectors.
    """
    at = start
    for first, end in wanted:
        if first > at:
            yield at, min(-(-first // SECTOR) * SECTOR, stop)
        at = max(at, end)
    if at < stop:
        yield at, stop
