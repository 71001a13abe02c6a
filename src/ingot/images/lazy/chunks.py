"""Chunks that are fetched when they are read, and some before."""

import threading
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ingot.images.cache import Cache
from ingot.images.chunk import Chunk, Chunks
from ingot.images.lazy.budget import Budget
from ingot.images.lazy.flight import Lane
from ingot.images.lazy.flights import PATIENCE_SECONDS, Flights
from ingot.images.lazy.foresight import Foresight
from ingot.images.lazy.local_disks import LocalDisks
from ingot.images.lazy.memory import Memory
from ingot.images.lazy.table import ChunkTable

# Chunks of a trace that are looked up at once, while readers go on.
_LOOK_UP = 512


@dataclass(slots=True)
class Figures:
    """What an open image has done so far. Bytes are as they are moved: compressed."""

    # Chunks that were read, by where they came from.
    from_memory: int = 0
    from_disk: int = 0
    from_remote: int = 0
    # Bytes that came from the remote: asked for, and guessed, of a trace or in the background.
    demanded: int = 0
    guessed: int = 0
    traced: int = 0
    hydrated: int = 0
    # Bytes of a layer that was read as a whole, on first contact.
    whole: int = 0
    # Bytes of all chunks that were read, each counted once.
    touched: int = 0
    failures: int = 0

    @property
    def moved(self) -> int:
        return self.demanded + self.guessed + self.traced + self.hydrated + self.whole


class LazyChunks:
    """The chunks of one file: from memory, the cache, disks on this machine, or `remote`, each fetched once and kept in
    the cache.

    What is read is fetched first and answered as soon as it is there. What will probably be read next is fetched
    meanwhile, in such bounds that little more is moved than is read. Any number of threads may read.
    """

    def __init__(
        self,
        remote: Chunks,
        table: ChunkTable,
        cache: Cache | None = None,
        disks: LocalDisks | None = None,
        *,
        budget: Budget | None = None,
        memory: Memory | None = None,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self.table = table
        self.figures = Figures()
        # Numbers of chunks in the order in which they were first read: a trace.
        self.order = array("I")
        self._cache = cache
        self._disks = disks
        # A trace of more than is kept would push out its own beginning.
        self._memory = memory or Memory()
        self._most_followed = self._memory.limit if cache is None else cache.limit
        self._flights = Flights(remote, table, self._memory, self._arrived, self._failed, patience)
        self._lock = threading.Lock()
        self._foresight = Foresight(table, budget or Budget(), self._here)

    def fetch(self, chunks: Sequence[Chunk]) -> Iterator[bytes | memoryview]:
        numbers = [self.table.number(chunk) for chunk in chunks]
        found = {number: self._look(number) for number in numbers}
        guesses = self._touch(found)
        missing = [number for number, data in found.items() if data is None]
        flights = dict(zip(missing, self._flights.demand(missing), strict=True))
        self._offer(guesses, Lane.GUESS)
        for number in numbers:
            data = found[number]
            yield flights[number].wait() if data is None else data

    def near(self, chunks: Sequence[Chunk]) -> bool:
        """Whether all of these are in memory."""
        return all(self.table.number(chunk) in self._memory for chunk in chunks)

    def begin(self) -> None:
        """Fetches the front of the file, where readers begin."""
        with self._lock:
            front = self._foresight.front()
        self._offer(front, Lane.TRACE)

    def follow(self, numbers: Sequence[int]) -> None:
        """Fetches these chunks in their order, before they are asked for: a trace."""
        left = self._most_followed
        for first in range(0, len(numbers), _LOOK_UP):
            absent = [number for number in numbers[first : first + _LOOK_UP] if not self._here(number)]
            left -= sum(map(self.table.size, absent))
            if left < 0 or self._flights.closed:
                break
            with self._lock:
                expected = [number for number in absent if self._foresight.expect(number)]
            self._offer(expected, Lane.TRACE)

    def lacks(self, number: int) -> bool:
        """Whether a chunk is not in the cache."""
        return self._cache is None or not self._cache.has(self.table.digest(number))

    @property
    def busy(self) -> bool:
        """Whether there is better to do than to hydrate."""
        return self._flights.busy(Lane.REST)

    def hydrate(self, numbers: Sequence[int]) -> tuple[int, bool]:
        """Brings chunks into the cache that nobody waits for; how many bytes were moved, and whether the cache has
        taken the chunks. Raises ImageFault."""
        absent = [number for number in numbers if not self._copied(number)]
        flights = self._flights.offer(absent, Lane.REST)
        for flight in flights:
            flight.wait()
        moved = sum(self.table.weight(flight.number) for flight in flights)
        # Those that somebody reads by now are put into the cache later.
        return moved, not any(flight.lane is Lane.REST and self.lacks(flight.number) for flight in flights)

    def _copied(self, number: int) -> bool:
        """Brings a chunk into the cache that is elsewhere on this machine; whether it was."""
        data = self._memory.peek(number) or self._from_disks(number)
        if self._cache is None or data is None:
            return False
        self._cache.put(self.table.digest(number), data)
        return True

    def stop(self) -> None:
        """Nothing is fetched any more; those who wait for it get a fault."""
        self._flights.close()

    def close(self) -> None:
        """Nobody may read any more."""
        self.stop()
        self._memory.close()

    def _touch(self, found: Mapping[int, bytes | memoryview | None]) -> list[int]:
        """Takes note of what is read, and what of it was here; what to fetch besides."""
        with self._lock:
            new = [number for number, data in found.items() if self._foresight.touch(number, data is not None)]
            self.order.extend(new)
            self.figures.touched += sum(map(self.table.weight, new))
            return self._foresight.guesses(min(found), max(found)) if new else []

    def _offer(self, numbers: Sequence[int], lane: Lane) -> None:
        if not numbers:
            return
        taken = {flight.number for flight in self._flights.offer(numbers, lane)}
        with self._lock:
            for number in numbers:
                if number not in taken:
                    self._foresight.forget(number)

    def _look(self, number: int) -> bytes | memoryview | None:
        """A chunk that is on this machine."""
        data = self._memory.get(number)
        if data is not None:
            self.figures.from_memory += 1
            return data
        if (data := self._from_cache(number)) is None:
            data = self._from_disks(number)
        if data is None:
            self.figures.from_remote += 1
        else:
            self.figures.from_disk += 1
        return data

    def _from_cache(self, number: int) -> bytes | None:
        return None if self._cache is None else self._fitting(number, self._cache.get(self.table.digest(number)))

    def _from_disks(self, number: int) -> bytes | None:
        return None if self._disks is None else self._fitting(number, self._disks.get(self.table.digest(number)))

    def _fitting(self, number: int, data: bytes | None) -> bytes | None:
        """The data, if they have the size of the chunk: a table may give a digest another one, and then what is read
        would be bytes of the neighbours."""
        return data if data is not None and len(data) == self.table.size(number) else None

    def _here(self, number: int) -> bool:
        """Whether a chunk needs not be fetched."""
        digest = self.table.digest(number)
        return (self._cache is not None and self._cache.has(digest)) or (
            self._disks is not None and self._disks.has(digest)
        )

    def _arrived(self, number: int, lane: Lane, data: bytes | memoryview) -> None:
        weight = self.table.weight(number)
        with self._lock:
            match lane:
                case Lane.DEMAND:
                    self.figures.demanded += weight
                case Lane.GUESS:
                    self.figures.guessed += weight
                case Lane.TRACE:
                    self.figures.traced += weight
                case Lane.REST:
                    self.figures.hydrated += weight
        if self._cache is not None:
            self._cache.put(self.table.digest(number), data)

    def _failed(self, number: int, lane: Lane) -> None:
        with self._lock:
            self.figures.failures += 1
            self._foresight.forget(number)
