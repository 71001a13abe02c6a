"""What of a disk may be wrong when the decoding of its qcow2 goes on from a checkpoint."""

from collections.abc import Iterator

from ingot.images.qcow2.arrivals import ENDLESS, Arrivals
from ingot.images.qcow2.entries import Kind


def stale(arrivals: Arrivals | None, deferred: set[int], done: int, base: int) -> Iterator[tuple[int, int]]:
    """Ranges of the disk, ascending, that were not written for good when all before `done` of the file was dealt with,
    and compressed clusters from `base` on are dealt with again. `deferred` tables are left for the end."""
    at = 0
    for start, end in _kept(arrivals, deferred, done, base) if arrivals else ():
        if start > at:
            yield at, start
        at = end
    yield at, ENDLESS


def _kept(arrivals: Arrivals, deferred: set[int], done: int, base: int) -> Iterator[tuple[int, int]]:
    """What of the disk is written, and will not be again."""
    for index in sorted(arrivals.known - deferred):
        border = arrivals.border(index)
        for run in arrivals.runs(index):
            if run.kind is Kind.PLAIN:
                first, end = max(run.host, border), min(run.host + run.length, done)
                if first < end:
                    yield run.start + first - run.host, run.start + end - run.host
            elif run.kind is Kind.COMPRESSED and border <= run.host < base:
                yield run.start, run.start + run.length
