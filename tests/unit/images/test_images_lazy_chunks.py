"""Chunks that are fetched when they are read: each once, little more than is read, and through failures."""

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingot.images.cache import Cache
from ingot.images.chunk import Chunk
from ingot.images.content import NotNear
from ingot.images.fault import ImageFault
from ingot.images.lazy.budget import SHARE, Budget
from ingot.images.lazy.chunks import LazyChunks
from ingot.images.lazy.flight import Lane
from ingot.images.lazy.foresight import Foresight
from ingot.images.lazy.local_disks import LocalDisks
from ingot.images.lazy.near import NearChunks
from ingot.images.lazy.table import ChunkTable
from ingot.images.seeds import register

COUNT = 64
WEIGHT = 20_000


def content(number: int) -> bytes:
    return number.to_bytes(4, "big") * 16


def chunks(weights: Sequence[int]) -> list[Chunk]:
    found, start = [], 512
    for number, weight in enumerate(weights):
        data = content(number)
        found.append(Chunk(hashlib.sha256(data).digest(), len(data), start, start + weight))
        start += weight
    return found


ALL = chunks([WEIGHT] * COUNT)


class Remote:
    """A registry that counts, waits at `gate`, and does before each request what `before` does."""

    def __init__(self, before: Callable[[Sequence[Chunk]], None] = lambda wanted: None) -> None:
        self.asked: list[list[int]] = []
        self._came = threading.Condition()
        self.gate = threading.Event()
        self.gate.set()
        self._before = before

    def fetch(self, wanted: Sequence[Chunk]) -> Iterator[bytes]:
        numbers = [ALL.index(chunk) for chunk in wanted]
        with self._came:
            self.asked.append(numbers)
            self._came.notify_all()
        assert self.gate.wait(10)
        self._before(wanted)
        yield from map(content, numbers)

    def wait_for(self, numbers: list[int]) -> None:
        """Returns when this request has come."""
        with self._came:
            assert self._came.wait_for(lambda: numbers in self.asked, 10)

    @property
    def fetched(self) -> list[int]:
        return sorted(number for numbers in self.asked for number in numbers)


def lazy(remote: Remote, cache: Cache | None = None, budget: Budget | None = None, patience: float = 5.0) -> LazyChunks:
    """Without a budget of its own, nothing is guessed."""
    return LazyChunks(remote, ChunkTable(ALL), cache, budget=budget or Budget(0, 0.0), patience=patience)


def read(opened: LazyChunks, *numbers: int) -> list[bytes]:
    return [bytes(data) for data in opened.fetch([ALL[number] for number in numbers])]


def test_neighbours_come_in_one_request() -> None:
    remote = Remote()
    opened = lazy(remote)
    assert read(opened, 3, 4, 5) == [content(3), content(4), content(5)]
    assert remote.asked == [[3, 4, 5]]
    opened.close()


def test_a_chunk_is_fetched_once_for_all_who_wait() -> None:
    remote = Remote()
    remote.gate.clear()
    opened = lazy(remote)
    with ThreadPoolExecutor(16) as pool:
        waiting = [pool.submit(read, opened, 7) for _ in range(16)]
        remote.gate.set()
        assert [each.result() for each in waiting] == [[content(7)]] * 16
    assert remote.fetched == [7]
    opened.close()


def test_what_is_in_the_cache_is_not_fetched(tmp_path: Path) -> None:
    first = lazy(Remote(), Cache(tmp_path))
    read(first, 1, 2)
    first.close()
    remote = Remote()
    second = lazy(remote, Cache(tmp_path))
    assert read(second, 1, 2, 3) == [content(1), content(2), content(3)]
    assert remote.fetched == [3]
    second.close()


class Honest:
    """A registry whose chunks have the sizes that they have."""

    def fetch(self, wanted: Sequence[Chunk]) -> Iterator[bytes]:
        raise ImageFault("layer", "BadChunk", "it inflates to another size")


@pytest.mark.parametrize("place", ["cache", "disk"])
@pytest.mark.parametrize("factor", [0.5, 2.0], ids=["less", "more"])
def test_what_is_here_in_another_size_is_not_used(tmp_path: Path, place: str, factor: float) -> None:
    """A table may say that a digest has another size than it has."""
    right, data = ALL[3], content(3)
    cache, disk = Cache(tmp_path / "cache"), tmp_path / "disk.raw"
    disk.write_bytes(data)
    if place == "cache":
        cache.put(right.digest, data)
    else:
        register(tmp_path / "seeds", disk, [(0, right)])
    lie = replace(right, size=int(right.size * factor))
    disks = LocalDisks(tmp_path)
    opened = LazyChunks(Honest(), ChunkTable([lie]), cache, disks, budget=Budget(0, 0.0))
    with pytest.raises(ImageFault, match="another size"):
        next(opened.fetch([lie]))
    with pytest.raises(ImageFault, match="another size"):
        opened.hydrate([0])
    assert (opened.figures.from_disk, opened.figures.from_remote) == (0, 1)
    opened.close()


def test_one_who_reads_on_is_read_ahead_of() -> None:
    remote = Remote()
    opened = lazy(remote, budget=Budget())
    for number in range(COUNT):
        read(opened, number)
    assert remote.fetched == list(range(COUNT))
    assert opened.figures.from_memory + opened.figures.from_remote == COUNT
    assert len(remote.asked) < COUNT / 2
    opened.close()


def test_demand_goes_before_what_was_guessed() -> None:
    remote = Remote()
    remote.gate.clear()
    opened = lazy(remote)
    # No two of them are neighbours: each is a request of its own.
    opened.follow(list(range(0, 40, 2)))
    with ThreadPoolExecutor(2) as pool:
        # One that waits in the queue of the trace, and one that does not.
        waiting = [pool.submit(read, opened, number) for number in (38, 60)]
        remote.wait_for([38])
        remote.wait_for([60])
        remote.gate.set()
        assert [each.result() for each in waiting] == [[content(38)], [content(60)]]
    opened.close()
    assert len(remote.fetched) == len(set(remote.fetched))


def test_what_is_not_in_memory_is_not_near() -> None:
    remote = Remote()
    opened = lazy(remote)
    near = NearChunks(opened)
    with pytest.raises(NotNear):
        near.fetch(ALL[3:5])
    assert not remote.asked
    assert not opened.order
    assert read(opened, 3) == [content(3)]
    assert [bytes(data) for data in near.fetch(ALL[3:4])] == [content(3)]
    with pytest.raises(NotNear):
        near.fetch([ALL[3], ALL[50]])
    opened.close()


def test_a_failed_request_costs_its_good_chunks_nothing() -> None:
    def bad(wanted: Sequence[Chunk]) -> None:
        if ALL[4] in wanted:
            raise ImageFault("layer", "WrongDigest", "it is not what it should be")

    opened = lazy(Remote(bad))
    found = opened.fetch(ALL[3:6])
    assert bytes(next(found)) == content(3)
    with pytest.raises(ImageFault, match="not what it should be"):
        next(found)
    assert read(opened, 5) == [content(5)]
    opened.close()


def test_a_remote_that_comes_back_is_waited_for() -> None:
    left = iter(range(2))

    def away(wanted: Sequence[Chunk]) -> None:
        if next(left, None) is not None:
            raise ImageFault("layer", "Lost", "the connection was lost", retry=True)

    opened = lazy(Remote(away))
    assert read(opened, 3) == [content(3)]
    opened.close()


def test_a_remote_that_stays_away_is_a_fault_and_can_be_asked_again() -> None:
    away = [True]

    def fail(wanted: Sequence[Chunk]) -> None:
        if away[0]:
            raise ImageFault("layer", "Lost", "the connection was lost", retry=True)

    opened = lazy(Remote(fail), patience=0.0)
    with pytest.raises(ImageFault, match="was lost"):
        read(opened, 3)
    away[0] = False
    assert read(opened, 3) == [content(3)]
    opened.close()


def test_who_waits_is_told_when_the_patience_ends_whatever_the_next_try_does() -> None:
    failed, gate = threading.Event(), threading.Event()

    def hang(wanted: Sequence[Chunk]) -> None:
        if failed.is_set():
            gate.wait(20)
        failed.set()
        raise ImageFault("layer", "TooSlow", "the registry is silent", retry=True)

    opened = lazy(Remote(hang), patience=0.7)
    with pytest.raises(ImageFault, match="is silent"):
        read(opened, 3)
    assert not gate.is_set()
    gate.set()
    opened.close()


def test_who_waits_behind_others_is_patient_while_chunks_come() -> None:
    """A short fault on a slow line: all wait for their turn, with the fault of a try that was not theirs."""
    left, turn = iter(range(3)), threading.Lock()

    def slow(wanted: Sequence[Chunk]) -> None:
        if next(left, None) is not None:
            raise ImageFault("layer", "Lost", "the connection was lost", retry=True)
        with turn:
            time.sleep(0.02 * len(wanted))

    opened = lazy(Remote(slow), patience=0.7)
    assert read(opened, *range(COUNT)) == list(map(content, range(COUNT)))
    opened.close()


def test_a_chunk_that_always_fails_is_a_fault_also_while_others_come() -> None:
    stop = threading.Event()

    def bad(wanted: Sequence[Chunk]) -> None:
        if ALL[3] in wanted:
            raise ImageFault("layer", "Busy", "the registry is busy", retry=True)

    opened = lazy(Remote(bad), patience=0.3)

    def others() -> None:
        for number in range(4, COUNT):
            read(opened, number)
            if stop.wait(0.05):
                return

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(others)
        with pytest.raises(ImageFault, match="is busy"):
            read(opened, 3)
        assert not reading.done()
        stop.set()
    opened.close()


def test_those_who_wait_when_it_is_closed_are_told() -> None:
    remote = Remote()
    opened = lazy(remote)
    opened.close()
    with pytest.raises(ImageFault, match="closed"):
        read(opened, 3)


def test_those_whose_request_hangs_when_it_is_closed_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.images.lazy.flights._CLOSE_SECONDS", 0.0)
    asked, gate = threading.Event(), threading.Event()

    def hang(wanted: Sequence[Chunk]) -> None:
        asked.set()
        gate.wait(20)

    opened = lazy(Remote(hang))
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read, opened, 3)
        asked.wait(20)
        opened.close()
        with pytest.raises(ImageFault, match="closed while it was read"):
            reading.result(10)
    gate.set()
    # What comes all the same does no harm.
    opened._flights._threads[0].join(20)
    assert opened.figures.demanded == WEIGHT


def test_a_request_that_hangs_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.images.lazy.flights._CLOSE_SECONDS", 0.0)
    remote = Remote()
    remote.gate.clear()
    opened = lazy(remote)
    opened.follow([0])
    remote.wait_for([0])
    opened.stop()
    monkeypatch.setattr("ingot.images.lazy.flights._CLOSE_SECONDS", 5.0)
    began = time.monotonic()
    opened.close()
    assert time.monotonic() - began < 2.5
    remote.gate.set()


def _no_more(*_: object) -> None:
    raise RuntimeError("can't start new thread")


def test_without_a_thread_reads_are_faults_until_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = lazy(Remote())
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", _no_more)
        for _ in range(12):
            with pytest.raises(ImageFault, match="can't start new thread") as caught:
                read(opened, 3)
            assert caught.value.retry
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(read, opened, 3, 4).result(10) == [content(3), content(4)]
    opened.close()


def test_one_thread_fetches_all_where_there_are_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    remote = Remote()
    remote.gate.clear()
    opened = lazy(remote)
    flights = opened._flights.demand([0])
    remote.wait_for([0])
    monkeypatch.setattr(threading.Thread, "start", _no_more)
    flights += opened._flights.demand([20, 40])
    flights += opened._flights.offer([50], Lane.GUESS)
    remote.gate.set()
    for flight in flights:
        assert flight.landed.wait(10)
        assert flight.wait() == content(flight.number)
    opened.close()


def test_guesses_that_fail_are_forgotten() -> None:
    def fail(wanted: Sequence[Chunk]) -> None:
        if ALL[0] not in wanted:
            raise ImageFault("layer", "Lost", "the connection was lost", retry=True)

    budget = Budget()
    opened = lazy(Remote(fail), budget=budget)
    read(opened, 0)
    opened.close()
    assert budget.guessed == 0


reads = st.lists(st.tuples(st.integers(0, COUNT - 1), st.integers(1, 8)), max_size=60)


@settings(max_examples=60, deadline=None)
@given(reads=reads, weights=st.lists(st.integers(50, 70_000), min_size=COUNT, max_size=COUNT))
def test_little_more_is_moved_than_is_read(reads: list[tuple[int, int]], weights: list[int]) -> None:
    table = ChunkTable(chunks(weights))
    credit = 100_000
    foresight = Foresight(table, Budget(credit), lambda number: False)
    moved = set(foresight.front())
    assert sum(map(table.weight, moved)) <= credit
    touched: set[int] = set()
    for first, length in reads:
        numbers = list(range(first, min(first + length, COUNT)))
        new = [number for number in numbers if foresight.touch(number)]
        assert new == [number for number in numbers if number not in touched]
        touched |= set(numbers)
        guesses = foresight.guesses(numbers[0], numbers[-1]) if new else []
        assert not moved & set(guesses)
        assert not touched & set(guesses)
        moved |= {*guesses, *touched}
        bound = sum(map(table.weight, touched))
        assert sum(map(table.weight, moved)) <= bound + max(SHARE * bound, credit)


def test_a_table_out_of_order_is_refused() -> None:
    with pytest.raises(ImageFault, match="of the blob"):
        ChunkTable([ALL[1], ALL[0]])
    with pytest.raises(ImageFault, match="no chunk at byte 3"):
        ChunkTable(ALL).number(Chunk(bytes(32), 64, 3, 4))
