"""Lazy reads in bounds: little memory whatever an image inflates to, readers that go on, and no more than is kept."""

import hashlib
import os
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from backports import zstd

from ingot.images.blob import FileBlob
from ingot.images.cache import SHARDS, Cache
from ingot.images.chunk import Chunk
from ingot.images.fault import ImageFault
from ingot.images.lazy.chunks import LazyChunks
from ingot.images.lazy.hydrate import Hydrator
from ingot.images.lazy.local_disks import LocalDisks
from ingot.images.lazy.memory import Memory, SharedMemory
from ingot.images.lazy.pace import Pace
from ingot.images.lazy.table import ChunkTable
from ingot.images.seeds import register
from ingot.images.zstd_chunked.remote import MOST_INFLATED, RemoteChunks, runs

SIZE = 4096


@pytest.fixture(autouse=True)
def _shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """All shards, however small they are."""
    monkeypatch.setattr("ingot.images.cache._LEAST_SHARD", 0)


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def content(number: int) -> bytes:
    return number.to_bytes(4, "big") * (SIZE // 4)


def chunks(count: int, size: int = SIZE) -> list[Chunk]:
    return [
        Chunk(hashlib.sha256(content(number)).digest(), size, 100 * number, 100 * number + 100)
        for number in range(count)
    ]


class Remote:
    """Has chunks of `content`, says how much it was asked for at once, and lacks those in `bad`."""

    def __init__(self, bad: Sequence[int] = ()) -> None:
        self.asked: list[list[Chunk]] = []
        self.bad = bad

    def fetch(self, wanted: Sequence[Chunk]) -> Iterator[bytes]:
        self.asked.append(list(wanted))
        for chunk in wanted:
            if chunk.start // 100 in self.bad:
                raise ImageFault("layer", "WrongDigest", f"chunk {chunk.start // 100} is not what it should be")
            yield content(chunk.start // 100)

    @property
    def fetched(self) -> set[int]:
        return {chunk.start // 100 for wanted in self.asked for chunk in wanted}


def test_a_request_inflates_to_no_more_than_one_large_chunk() -> None:
    huge = chunks(5, MOST_INFLATED)
    assert [list(run) for run in runs(huge)] == [[chunk] for chunk in huge]
    small = chunks(3 * 256, MOST_INFLATED // 256)
    assert [len(run) for run in runs(small)] == [256] * 3


@pytest.fixture
def bomb(tmp_path: Path) -> tuple[RemoteChunks, list[Chunk]]:
    """24 chunks of 16 MiB that are 13 KiB in all."""
    zeros = bytes(MOST_INFLATED)
    frame = zstd.compress(zeros)
    path = tmp_path / "layer"
    path.write_bytes(24 * frame)
    digest = hashlib.sha256(zeros).digest()
    starts = range(0, 24 * len(frame), len(frame))
    return RemoteChunks(FileBlob(path)), [Chunk(digest, len(zeros), start, start + len(frame)) for start in starts]


def test_a_trace_over_zeros_takes_little_memory(bomb: tuple[RemoteChunks, list[Chunk]], tmp_path: Path) -> None:
    remote, huge = bomb
    # Of this size it takes no chunk as large as these.
    cache = Cache(tmp_path, (SHARDS - 1) * MOST_INFLATED)
    opened = LazyChunks(remote, ChunkTable(huge), cache, memory=Memory(MOST_INFLATED))
    tracemalloc.start()
    try:
        opened.follow(range(len(huge)))
        wait_until(lambda: opened.figures.traced == sum(chunk.end - chunk.start for chunk in huge))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        opened.close()
    # Six requests of a trace at once, and what is kept.
    assert peak < 9 * MOST_INFLATED


def test_what_inflates_to_much_is_hardly_guessed(bomb: tuple[RemoteChunks, list[Chunk]]) -> None:
    _, huge = bomb
    table = ChunkTable(huge)
    assert table.weight(0) < 1000 < table.cost(0)
    ordinary = ChunkTable([Chunk(bytes(32), 1 << 16, 0, 20_000)])
    assert ordinary.cost(0) == ordinary.weight(0) == 20_000


def test_readers_go_on_while_a_long_trace_is_looked_up(tmp_path: Path) -> None:
    looked_up, go_on = threading.Event(), threading.Event()

    class Slow(Cache):
        """Takes its time to look up the trace."""

        def has(self, digest: bytes) -> bool:
            if threading.current_thread() is following:
                looked_up.set()
                assert go_on.wait(10)
            return True

    several = chunks(8)
    opened = LazyChunks(Remote(), ChunkTable(several), Slow(tmp_path))
    following = threading.Thread(target=opened.follow, args=(range(8),))
    following.start()
    try:
        assert looked_up.wait(10)
        with ThreadPoolExecutor(1) as pool:
            read = pool.submit(lambda: [bytes(data) for data in opened.fetch(several[3:4])])
            try:
                assert read.result(5) == [content(3)]
            finally:
                go_on.set()
    finally:
        go_on.set()
        following.join()
        opened.close()


def test_a_trace_of_more_than_the_cache_holds_ends(tmp_path: Path) -> None:
    several = chunks(2000)
    remote = Remote()
    opened = LazyChunks(remote, ChunkTable(several), Cache(tmp_path, 1000 * SIZE))
    opened.follow(range(2000))
    wait_until(lambda: not opened.busy)
    opened.close()
    assert remote.fetched == set(range(512))


def hydrate(opened: LazyChunks, cache: Cache, pace: Pace | None = None) -> Hydrator:
    hydrator = Hydrator(opened, cache, pace or Pace())
    hydrator._thread.join(20)
    assert not hydrator._thread.is_alive()
    return hydrator


def test_an_image_that_does_not_fit_is_hydrated_as_far_as_it_fits(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache = Cache(tmp_path, SHARDS * 2 * SIZE)
    remote = Remote()
    opened = LazyChunks(remote, ChunkTable(chunks(2000)), cache)
    assert hydrate(opened, cache).done.is_set()
    assert "does not fit a cache of" in caplog.text
    # Nothing was fetched in vain, and nothing is fetched again.
    assert cache.counters.evicted == 0
    assert cache.usage() == (len(remote.fetched) * SIZE, len(remote.fetched))
    assert 400 < len(remote.fetched) <= 512
    asked = len(remote.asked)
    hydrate(opened, cache)
    assert len(remote.asked) == asked
    opened.close()


def test_a_hydration_that_is_closed_complains_of_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("ingot.images.lazy.flights._CLOSE_SECONDS", 0.0)
    asked, gate = threading.Event(), threading.Event()

    class Hanging(Remote):
        def fetch(self, wanted: Sequence[Chunk]) -> Iterator[bytes]:
            asked.set()
            assert gate.wait(20)
            yield from super().fetch(wanted)

    cache = Cache(tmp_path)
    opened = LazyChunks(Hanging(), ChunkTable(chunks(64)), cache)
    hydrator = Hydrator(opened, cache, Pace())
    assert asked.wait(20)
    hydrator.stop()
    opened.stop()
    hydrator.join()
    opened.close()
    gate.set()
    assert not caplog.messages


def test_a_cache_that_takes_nothing_ends_the_hydration(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Full(Cache):
        def put(self, digest: bytes, data: bytes | memoryview) -> bool:
            return False

    cache = Full(tmp_path)
    remote = Remote()
    opened = LazyChunks(remote, ChunkTable(chunks(500)), cache)
    assert not hydrate(opened, cache).done.is_set()
    assert "takes no more" in caplog.text
    assert len(remote.fetched) <= 8
    opened.close()


def test_a_bad_chunk_is_left_out_of_the_hydration(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache = Cache(tmp_path)
    opened = LazyChunks(Remote(bad=[13]), ChunkTable(chunks(40)), cache)
    assert hydrate(opened, cache).done.is_set()
    assert [number for number in range(40) if opened.lacks(number)] == [13]
    assert "chunk 13 is not what it should be; it is left out" in caplog.text
    opened.close()


class Told(Pace):
    """A pace by a clock that goes as far as it is told to wait; what was moved by when."""

    def __init__(self, rate: int) -> None:
        self.now = 1000.0
        self.moves: list[tuple[float, int]] = []
        super().__init__(rate, lambda: self.now)

    def spend(self, moved: int, began: float) -> float:
        self.moves.append((self.now, moved))
        self.now += super().spend(moved, began)
        return 0.0

    def most(self, seconds: float) -> int:
        """The most that was moved in so many seconds."""
        ends = [moment for moment, _ in self.moves]
        return max(sum(moved for moment, moved in self.moves if end - seconds < moment <= end) for end in ends)


def test_hydration_keeps_to_its_rate_also_after_a_pause(tmp_path: Path) -> None:
    weight = 100
    pace = Told(rate=100 * weight)

    class Pausing(Remote):
        def fetch(self, wanted: Sequence[Chunk]) -> Iterator[bytes]:
            # The time of a request counts; that of an outage is not made up for.
            pace.now += 25.0 if wanted[0].start == 400 * weight else 0.02
            yield from super().fetch(wanted)

    cache, begun = Cache(tmp_path), pace.now
    opened = LazyChunks(Pausing(), ChunkTable(chunks(800)), cache)
    assert hydrate(opened, cache, pace).done.is_set()
    assert sum(moved for _, moved in pace.moves) == 800 * weight
    assert pace.most(1.0) <= (100 + 2 * 8) * weight
    assert 25.0 + 7.8 < pace.now - begun < 25.0 + 8.1
    opened.close()


def test_those_who_hydrate_at_once_share_the_rate() -> None:
    now = 50.0
    pace = Pace(100, lambda: now)
    assert pace.spend(50, now) == 0.5
    assert pace.spend(50, now) == 1.0
    now = 52.0
    assert pace.spend(50, 51.0) == 0.0
    assert pace.spend(50, 52.0) == 0.5


@pytest.fixture
def disks(tmp_path: Path) -> LocalDisks:
    """An imported disk with the chunks 0 to 15; 5 was changed since."""
    disk = tmp_path / "disk.raw"
    disk.write_bytes(b"".join(map(content, range(16))))
    register(tmp_path / "seeds", disk, [(SIZE * number, chunk) for number, chunk in enumerate(chunks(16))])
    with disk.open("r+b") as file:
        os.pwrite(file.fileno(), b"changed", 5 * SIZE + 100)
    return LocalDisks(tmp_path)


def test_what_a_disk_of_this_machine_has_is_not_fetched(tmp_path: Path, disks: LocalDisks) -> None:
    remote = Remote()
    several = chunks(20)
    opened = LazyChunks(remote, ChunkTable(several), Cache(tmp_path / "cache"), disks)
    opened.follow(range(16))
    opened.begin()
    assert [bytes(data) for data in opened.fetch(several[:17])] == [content(number) for number in range(17)]
    opened.close()
    assert 5 in remote.fetched
    assert 16 in remote.fetched
    assert not remote.fetched & (set(range(16)) - {5})
    assert opened.figures.from_disk == 15


def test_what_a_disk_has_is_hydrated_from_it(tmp_path: Path, disks: LocalDisks) -> None:
    cache = Cache(tmp_path / "cache")
    remote = Remote()
    opened = LazyChunks(remote, ChunkTable(chunks(16)), cache, disks)
    hydrate(opened, cache)
    assert not any(map(opened.lacks, range(16)))
    assert remote.fetched == {5}
    opened.close()


def test_a_disk_that_is_gone_is_fetched(tmp_path: Path, disks: LocalDisks) -> None:
    (tmp_path / "disk.raw").unlink()
    os.mkfifo(tmp_path / "disk.raw")
    opened = LazyChunks(Remote(), ChunkTable(chunks(16)), None, disks)
    assert [bytes(data) for data in opened.fetch(chunks(16))] == [content(number) for number in range(16)]
    opened.close()


def test_images_of_a_process_share_their_memory(tmp_path: Path) -> None:
    shared = SharedMemory(40 * SIZE)
    several = chunks(64)
    images = [LazyChunks(Remote(), ChunkTable(several), memory=Memory(32 * SIZE, shared)) for _ in range(3)]
    for opened in images:
        assert len(list(opened.fetch(several))) == 64
        wait_until(lambda opened=opened: not opened.busy)
        assert shared.size <= 40 * SIZE
    # The one that was read last has most of it, and not all.
    assert not images[0].near(several[-20:])
    assert images[2].near(several[-13:])
    for opened in images:
        opened.close()
    assert shared.size == 0


def test_memory_of_images_that_nobody_reads_goes_first() -> None:
    shared = SharedMemory(40 * SIZE)
    idle, large, reading = (Memory(32 * SIZE, shared) for _ in range(3))
    for memory, count in ((idle, 10), (large, 20), (reading, 10)):
        for number in range(count):
            memory.put(number, bytes(SIZE), read=True)
    idle.used -= 60.0
    for number in range(10, 20):
        reading.put(number, bytes(SIZE), read=True)
    assert [memory.size // SIZE for memory in (idle, large, reading)] == [0, 20, 20]
    # Where all are read, the one that has most.
    reading.put(20, bytes(SIZE), read=True)
    assert [memory.size // SIZE for memory in (idle, large, reading)] == [0, 20, 20]
    assert 0 not in reading
    for memory in (idle, large, reading):
        memory.close()
    assert shared.size == 0


def test_an_image_that_is_only_hydrated_is_none_that_is_read(tmp_path: Path) -> None:
    shared, cache, several = SharedMemory(40 * SIZE), Cache(tmp_path), chunks(64)
    read, hydrated = (Memory(32 * SIZE, shared) for _ in range(2))
    reading = LazyChunks(Remote(), ChunkTable(several), memory=read)
    assert len(list(reading.fetch(several[:30]))) == 30
    wait_until(lambda: not reading.busy)
    before = read.size
    behind = LazyChunks(Remote(), ChunkTable(several), cache, memory=hydrated)
    hydrate(behind, cache)
    # What is in memory already is looked at, too.
    behind.hydrate(range(64))
    assert not any(map(behind.lacks, range(64)))
    assert hydrated.used == 0.0
    assert (read.size, hydrated.size) == (before, 40 * SIZE - before)
    for opened in (reading, behind):
        opened.close()


def test_images_of_a_process_share_the_tables_of_disks(tmp_path: Path, disks: LocalDisks) -> None:
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = descriptors()
    opened = [LazyChunks(Remote(), ChunkTable(chunks(16)), None, disks) for _ in range(5)]
    newcomer = Chunk(hashlib.sha256(content(77)).digest(), SIZE, 0, 100)
    (tmp_path / "new.raw").write_bytes(content(77))
    register(tmp_path / "seeds", tmp_path / "new.raw", [(0, newcomer)])
    for _ in range(5):
        disks.renew()
    # Also the disk that has become known since; and only its table is one more.
    assert disks.get(newcomer.digest) == content(77)
    assert descriptors() == before + 1
    assert [bytes(data) for each in opened for data in each.fetch(chunks(1))] == [content(0)] * 5
    for each in opened:
        each.close()
