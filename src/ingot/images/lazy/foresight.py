"""What a reader will want next, judged by what was read before: streams that go on, and the surroundings of misses."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from ingot.images.lazy.budget import Budget
from ingot.images.lazy.table import ChunkTable

_ABSENT, _GUESSED, _TOUCHED = 0, 1, 2
# Readers of files at once, as a guest's programs at its start.
_STREAMS = 64
# A stream may leave out as many chunks as this, or read as many again.
_SKIP = 2
# How far a stream is read ahead at first and at most, in bytes to be moved.
_FIRST = 64 << 10
_MOST = 1 << 20


@dataclass(slots=True)
class _Stream:
    """`next` is the chunk that it should read next, `ahead` the first that was not guessed, `window` in bytes."""

    next: int
    ahead: int
    window: int


class Foresight:
    """Tells which chunks to fetch before they are asked for, within a budget. One thread at a time.

    `here` says whether a chunk needs not be fetched.
    """

    def __init__(self, table: ChunkTable, budget: Budget, here: Callable[[int], bool]) -> None:
        self._table = table
        self._budget = budget
        self._here = here
        self._states = bytearray(len(table))
        self._streams: OrderedDict[int, _Stream] = OrderedDict()

    def touch(self, number: int) -> bool:
        """Takes note that a chunk is read; whether for the first time."""
        state = self._states[number]
        if state == _TOUCHED:
            return False
        weight = self._table.weight(number)
        if state == _GUESSED:
            self._budget.give_back(weight)
        self._budget.touch(weight)
        self._states[number] = _TOUCHED
        return True

    def forget(self, number: int) -> None:
        """A guess was not fetched after all."""
        if self._states[number] == _GUESSED:
            self._states[number] = _ABSENT
            self._budget.give_back(self._table.weight(number))

    def guesses(self, first: int, last: int) -> list[int]:
        """What to fetch now that the chunks from `first` to `last` are read, some of them for the first time."""
        stream = self._stream(first)
        if stream is None:
            stream = _Stream(last + 1, last + 1, _FIRST)
        else:
            stream.next = max(stream.next, last + 1)
            stream.ahead = max(stream.ahead, stream.next)
            stream.window = min(2 * stream.window, _MOST)
        self._streams[stream.next] = stream
        if len(self._streams) > _STREAMS:
            self._streams.popitem(last=False)
        return self._read_ahead(stream)

    def _stream(self, first: int) -> _Stream | None:
        """The stream that goes on here; it is taken out of those that are known."""
        for skipped in range(-_SKIP, _SKIP + 1):
            if (stream := self._streams.pop(first - skipped, None)) is not None:
                return stream
        return None

    def _read_ahead(self, stream: _Stream) -> list[int]:
        """Fills the window when half of it is used up, so that requests are not too small."""
        guessed = sum(self._table.weight(number) for number in range(stream.next, stream.ahead))
        if guessed > stream.window // 2:
            return []
        found: list[int] = []
        while stream.ahead < len(self._table) and guessed < stream.window:
            guessed += self._table.weight(stream.ahead)
            if not self._guess(stream.ahead, found):
                break
            stream.ahead += 1
        return found

    def _guess(self, number: int, found: list[int]) -> bool:
        """Adds a chunk where it is to be fetched; whether the budget has allowed it."""
        if self._states[number] != _ABSENT or self._here(number):
            return True
        if not self._budget.spend(self._table.weight(number)):
            return False
        self._states[number] = _GUESSED
        found.append(number)
        return True

    def expect(self, number: int) -> bool:
        """Takes note that a chunk is going to be fetched without a guess; whether it has to be. It counts as a guess,
        so that there are fewer others until it is read."""
        if self._states[number] != _ABSENT or self._here(number):
            return False
        self._states[number] = _GUESSED
        self._budget.charge(self._table.weight(number))
        return True
