"""What a reader will want next, judged by what was read before: streams that go on, and the surroundings of reads."""

from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ingot.images.lazy.budget import Budget
from ingot.images.lazy.table import ChunkTable

_ABSENT, _GUESSED, _TOUCHED = 0, 1, 2
# Readers of files at once, as a guest's programs at its start.
_STREAMS = 64
# A stream may leave out as many chunks as this, or read as many again.
_SKIP = 2
# So many chunks in a row are a stream, and no longer a neighbourhood.
_ROW = 8
# How far a stream is read ahead at first and at most, in bytes to be moved.
_FIRST = 64 << 10
_MOST = 1 << 20
# How much of the front is fetched at once: boot loader and tables, and often the kernel.
_FRONT = 3 << 20
# How likely the chunks behind and before one that is read are to be read as well: measured while Debian starts, where
# programs are read by their pages. What several reads are near to is the more likely.
_BEHIND = tuple(0.6 * 0.7**distance for distance in range(16))
_BEFORE = tuple(0.1 * 0.7**distance for distance in range(16))
# What is less likely than this is not guessed; a chunk that is cheap to move may be less likely.
_LEAST = 0.25
_DEAR = 24 << 10
_CHEAP = 0.1


@dataclass(slots=True)
class _Stream:
    """`next` is the chunk that it should read next, `ahead` the first that was not guessed, `window` in bytes. `row`
    counts the chunks that it has read."""

    next: int
    ahead: int
    window: int = _FIRST
    row: int = 0


class Foresight:
    """Tells which chunks to fetch before they are asked for, within a budget. One thread at a time.

    `here` says whether a chunk needs not be fetched.
    """

    def __init__(self, table: ChunkTable, budget: Budget, here: Callable[[int], bool]) -> None:
        self._table = table
        self._budget = budget
        self._here = here
        self._states = bytearray(len(table))
        # How likely each chunk is not to be read.
        self._doubts = array("f", [1.0]) * len(table)
        self._streams: OrderedDict[int, _Stream] = OrderedDict()
        self._expecting = False
        # Of what was read since the last guesses: whether something had to be fetched, and whether a guess was right.
        self._surprised = False
        self._confirmed = False

    def touch(self, number: int, here: bool = False) -> bool:
        """Takes note that a chunk is read; whether for the first time. `here`: it was on a disk of this machine."""
        state = self._states[number]
        if state == _TOUCHED:
            return False
        if state == _GUESSED:
            self._budget.give_back(self._table.cost(number))
            self._confirmed = True
        elif not here:
            self._surprised = True
        self._budget.touch(self._table.weight(number))
        self._states[number] = _TOUCHED
        return True

    def forget(self, number: int) -> None:
        """A guess was not fetched after all."""
        if self._states[number] == _GUESSED:
            self._states[number] = _ABSENT
            self._budget.give_back(self._table.cost(number))

    def expect(self, number: int) -> bool:
        """Takes note that a chunk which is not here is going to be fetched without a guess; whether it has to be. It
        counts as a guess, so that there are fewer others until it is read."""
        if self._states[number] != _ABSENT:
            return False
        self._states[number] = _GUESSED
        self._budget.charge(self._table.cost(number))
        self._expecting = True
        return True

    def front(self) -> list[int]:
        """What to fetch before anything was read. Where most of it is here, the image was read here before, and what
        is not here nobody has wanted."""
        found: list[int] = []
        cost = number = 0
        while number < len(self._table):
            cost += self._table.cost(number)
            if cost > _FRONT or not self._guess(number, found):
                break
            number += 1
        if 2 * len(found) >= number:
            return found
        for guess in found:
            self.forget(guess)
        return []

    def guesses(self, first: int, last: int) -> list[int]:
        """What to fetch now that the chunks from `first` to `last` are read, some of them for the first time.

        Where readers do as was expected of them, that is enough; and so is it where all they read was here."""
        surprised, confirmed = self._surprised, self._confirmed
        self._surprised = self._confirmed = False
        if not surprised and (self._expecting or not confirmed):
            return []
        stream = self._stream(first) or _Stream(last + 1, last + 1)
        stream.row += last + 1 - first
        stream.next = max(stream.next, last + 1)
        stream.ahead = max(stream.ahead, stream.next)
        self._streams[stream.next] = stream
        if len(self._streams) > _STREAMS:
            self._streams.popitem(last=False)
        return self._read_ahead(stream) if stream.row >= _ROW else self._read_around(first, last)

    def _stream(self, first: int) -> _Stream | None:
        """The stream that goes on here; it is taken out of those that are known."""
        for skipped in range(-_SKIP, _SKIP + 1):
            if (stream := self._streams.pop(first - skipped, None)) is not None:
                return stream
        return None

    def _read_ahead(self, stream: _Stream) -> list[int]:
        """Fills the window of a stream, which is wider each time."""
        stream.window = min(2 * stream.window, _MOST)
        guessed = sum(self._table.cost(number) for number in range(stream.next, stream.ahead))
        found: list[int] = []
        while stream.ahead < len(self._table) and guessed < stream.window:
            guessed += self._table.cost(stream.ahead)
            if not self._guess(stream.ahead, found):
                break
            stream.ahead += 1
        return found

    def _read_around(self, first: int, last: int) -> list[int]:
        """The likeliest chunks near to a read."""
        found: list[int] = []
        for number in sorted(self._surroundings(first, last), key=self._doubts.__getitem__):
            cost = min(max(self._table.cost(number) / _DEAR, _CHEAP), 1.0)
            if 1.0 - self._doubts[number] >= _LEAST * cost and not self._guess(number, found):
                break
        return found

    def _surroundings(self, first: int, last: int) -> Iterator[int]:
        for distance, (behind, before) in enumerate(zip(_BEHIND, _BEFORE, strict=True), 1):
            if last + distance < len(self._table):
                self._doubts[last + distance] *= 1.0 - behind
                yield last + distance
            if first - distance >= 0:
                self._doubts[first - distance] *= 1.0 - before
                yield first - distance

    def _guess(self, number: int, found: list[int]) -> bool:
        """Adds a chunk where it is to be fetched; whether the budget has allowed it."""
        if self._states[number] != _ABSENT or self._here(number):
            return True
        if not self._budget.spend(self._table.cost(number)):
            return False
        self._states[number] = _GUESSED
        found.append(number)
        return True
