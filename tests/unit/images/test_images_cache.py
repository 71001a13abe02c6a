"""The chunk cache: checked, bounded, shared by processes, and safe under deletion and full disks."""

import hashlib
import logging
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from full_disk import full_disk
from ingot.images.cache import SHARDS, Cache, default_directory
from ingot.images.chunk import Chunk
from ingot.images.fault import ImageFault
from ingot.images.pipeline.kept_tables import KeptTables

SIZE = 1 << 12


@pytest.fixture(autouse=True)
def _shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """All shards, however small they are."""
    monkeypatch.setattr("ingot.images.cache._LEAST_SHARD", 0)


def data(number: int, size: int = SIZE) -> bytes:
    return number.to_bytes(8, "little") * (size // 8)


def digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def fill(cache: Cache, numbers: range, size: int = SIZE) -> None:
    for number in numbers:
        content = data(number, size)
        cache.put(digest(content), content)


def file_of(cache: Cache, content: bytes) -> Path:
    name = digest(content).hex()
    return cache.directory / "chunks" / name[:2] / name


def test_what_was_put_is_there_for_others(tmp_path: Path) -> None:
    content = data(1)
    assert Cache(tmp_path).get(digest(content)) is None
    assert Cache(tmp_path).put(digest(content), memoryview(content))
    other = Cache(tmp_path)
    assert other.has(digest(content))
    assert other.get(digest(content)) == content
    assert other.usage() == (SIZE, 1)


def test_damage_all_over_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache = Cache(tmp_path)
    fill(cache, range(20))
    for path in (tmp_path / "chunks").glob("*/*"):
        path.write_bytes(b"damaged")
    assert [cache.get(digest(data(number))) for number in range(20)] == [None] * 20
    assert cache.counters.damaged == 20
    assert len(caplog.records) == 1


@pytest.mark.parametrize("harm", [b"", b"short", data(2), data(1) + b"more"])
def test_a_damaged_file_is_removed_and_counts_as_absent(tmp_path: Path, harm: bytes) -> None:
    cache, content = Cache(tmp_path), data(1)
    cache.put(digest(content), content)
    file_of(cache, content).write_bytes(harm)
    assert cache.get(digest(content)) is None
    assert not cache.has(digest(content))
    assert cache.counters.damaged == 1
    cache.put(digest(content), content)
    assert cache.get(digest(content)) == content


def test_it_stays_within_its_limit(tmp_path: Path) -> None:
    cache = Cache(tmp_path, limit=SHARDS * 4 * SIZE)
    fill(cache, range(2000))
    size, count = cache.usage()
    assert size == count * SIZE
    assert SHARDS * SIZE < size <= SHARDS * 4 * SIZE
    assert cache.counters.evicted == 2000 - count


def test_indexes_count_in_its_limit(tmp_path: Path) -> None:
    limit = SHARDS * 4 * SIZE
    (tmp_path / "indexes").mkdir()
    (tmp_path / "indexes" / ("a" * 64)).write_bytes(bytes(limit // 4))
    cache = Cache(tmp_path, limit)
    fill(cache, range(1000))
    assert SHARDS * SIZE < cache.usage()[0] <= limit * 3 // 4
    # One more, by another process.
    (tmp_path / "indexes" / ("b" * 64)).write_bytes(bytes(limit // 4))
    fill(cache, range(1000, 2500))
    assert SHARDS * SIZE < cache.usage()[0] <= limit // 2


def test_what_was_used_last_stays(tmp_path: Path) -> None:
    cache = Cache(tmp_path, limit=SHARDS * 3 * SIZE)
    same = [content for content in map(data, range(4000)) if digest(content)[0] == 0][:4]
    for age, content in zip((300, 2000, 100), same, strict=False):
        cache.put(digest(content), content)
        os.utime(file_of(cache, content), (1e9 - age, 1e9 - age))
    # The oldest of them is read, and so is the youngest.
    assert cache.get(digest(same[1])) == same[1]
    cache.put(digest(same[3]), same[3])
    assert [cache.has(digest(content)) for content in same] == [False, True, False, True]


def test_a_chunk_that_no_shard_has_room_for_is_not_cached(tmp_path: Path) -> None:
    cache = Cache(tmp_path, limit=SHARDS * SIZE)
    assert not cache.put(digest(data(1, 2 * SIZE)), data(1, 2 * SIZE))
    assert cache.usage() == (0, 0)


@pytest.mark.parametrize("limit", [8 << 20, 100 << 20])
def test_a_small_one_has_fewer_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr("ingot.images.cache._LEAST_SHARD", 4 << 20)
    cache, large = Cache(tmp_path, limit), 1 << 20
    fill(cache, range(200), large)
    assert cache.counters.refused == 0
    assert limit // 2 <= cache.usage()[0] <= limit
    assert cache.get(digest(data(199, large))) == data(199, large)


def test_what_one_with_another_limit_has_put_there_is_found_and_let_go_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingot.images.cache._LEAST_SHARD", 4 << 20)
    large, small = Cache(tmp_path), Cache(tmp_path, 8 << 20)
    assert small.shards == 1 < large.shards == SHARDS
    fill(large, range(16), 1 << 20)
    assert small.get(digest(data(3, 1 << 20))) == data(3, 1 << 20)
    fill(small, range(16, 17), 1 << 20)
    assert small.usage()[0] <= 8 << 20


def test_a_chunk_that_is_too_large_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    fill(Cache(tmp_path, limit=SHARDS * SIZE), range(3), 2 * SIZE)
    assert [record.message.partition(" has ")[2] for record in caplog.records] == [
        f"no room for a chunk of {2 * SIZE} bytes; give it more with --cache-size"
    ]


def test_deletion_under_readers_and_writers_loses_nothing_but_the_cache(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", limit=SHARDS * 64 * SIZE)
    done, wrong = threading.Event(), []

    def work() -> None:
        while not done.is_set():
            fill(cache, range(50))
            for number in range(50):
                if cache.get(digest(data(number))) not in (None, data(number)):
                    wrong.append(number)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        shutil.rmtree(cache.directory, ignore_errors=True)
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    fill(cache, range(10))
    assert cache.get(digest(data(3))) == data(3)


PROCESS = """
import sys, hashlib
from pathlib import Path
from ingot.images.cache import Cache
cache = Cache(Path(sys.argv[1]), limit=int(sys.argv[2]))
for number in range(600):
    content = (number % 400).to_bytes(8, "little") * 512
    digest = hashlib.sha256(content).digest()
    found = cache.get(digest)
    assert found in (None, content)
    assert cache.put(digest, content)
assert cache.counters.damaged == 0
"""


def test_several_processes_share_it(tmp_path: Path) -> None:
    limit = SHARDS * 2 * SIZE
    command = [sys.executable, "-c", PROCESS, str(tmp_path), str(limit)]
    running = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    size, _ = Cache(tmp_path, limit).usage()
    assert 0 < size <= limit + 3 * SIZE * SHARDS // 16
    assert not list(tmp_path.rglob(".part-*"))
    for path in (tmp_path / "chunks").glob("*/*"):
        assert digest(path.read_bytes()).hex() == path.name


def test_a_full_disk_means_uncached_and_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache = Cache(tmp_path)
    cache.put(digest(data(1)), data(1))
    with full_disk(SIZE // 2), caplog.at_level(logging.WARNING):
        assert not cache.put(digest(data(2)), data(2))
        assert not cache.put(digest(data(3)), data(3))
    assert [record.message for record in caplog.records if "takes no more" in record.message] == [
        f"chunk cache: {tmp_path} takes no more (File too large); chunks are used uncached"
    ]
    assert cache.counters.refused == 2
    assert not list(tmp_path.rglob(".part-*"))
    assert cache.get(digest(data(1))) == data(1)
    assert cache.put(digest(data(2)), data(2))


class Remote:
    def fill(self, chunks: Sequence[Chunk], places: Sequence[memoryview]) -> None:
        places[0][:] = data(chunks[0].start)


def test_an_import_evicts_nothing_that_a_larger_cache_has_room_for(tmp_path: Path) -> None:
    number = next(number for number in range(4000) if digest(data(number))[0] == 0)
    Cache(tmp_path, 100 << 30)
    (tmp_path / "chunks" / "00").mkdir(parents=True)
    for other in range(300):
        name = tmp_path / "chunks" / "00" / f"00{other:062x}"
        name.touch()
        os.truncate(name, 1 << 20)
    KeptTables(Remote(), tmp_path).fill([Chunk(digest(data(number)), SIZE, number, 0)], [memoryview(bytearray(SIZE))])
    assert len(list((tmp_path / "chunks" / "00").iterdir())) == 301


def test_who_is_given_no_size_keeps_to_the_one_that_was_given_last(tmp_path: Path) -> None:
    assert Cache(tmp_path).limit == 10 << 30
    Cache(tmp_path, 100 << 30)
    assert Cache(tmp_path).limit == 100 << 30
    Cache(tmp_path, 1 << 30)
    assert Cache(tmp_path).limit == 1 << 30
    assert Cache(tmp_path).indexes.limit == 1 << 29


def test_what_comes_into_a_deleted_cache_brings_its_size_along(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", 100 << 30)
    told_nothing = Cache(tmp_path / "cache")
    for each in (cache, told_nothing):
        shutil.rmtree(cache.directory)
        fill(each, range(1))
        assert Cache(tmp_path / "cache").limit == 100 << 30


def test_the_default_is_not_noted(tmp_path: Path) -> None:
    fill(Cache(tmp_path / "cache"), range(1))
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["chunks"]


@pytest.mark.parametrize("harm", [b"", b"10Gi", b"-1", b"9" * 5000])
def test_a_damaged_note_of_its_size_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture, harm: bytes) -> None:
    Cache(tmp_path, 100 << 30)
    (tmp_path / "limit").write_bytes(harm)
    assert Cache(tmp_path).limit == 10 << 30
    assert [record.message for record in caplog.records] == [
        f"chunk cache: {tmp_path / 'limit'} has no size in it, and without one it is 10 GiB: give it anew with "
        "--cache-size"
    ]
    Cache(tmp_path, 100 << 30)
    assert Cache(tmp_path).limit == 100 << 30


def test_a_full_disk_that_takes_no_note_of_its_size_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with full_disk(1):
        cache = Cache(tmp_path, 100 << 30)
    assert cache.limit == 100 << 30
    assert [record.message.partition(" (")[0] for record in caplog.records] == [
        f"chunk cache: {tmp_path} takes no note of its size"
    ]
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_said_once_by_an_import(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    kept = KeptTables(Remote(), tmp_path)
    with full_disk(SIZE // 2), caplog.at_level(logging.WARNING):
        for number in (1, 2):
            assert list(kept.fetch([Chunk(digest(data(number)), SIZE, number, number)])) == [data(number)]
    assert len(caplog.records) == 1


def test_what_a_killed_writer_left_goes_with_the_next_count(tmp_path: Path) -> None:
    cache, content = Cache(tmp_path), data(1)
    left = file_of(cache, content).with_name(".part-0123")
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half")
    os.utime(left, (1e9, 1e9))
    cache.put(digest(content), content)
    assert not left.exists()


def test_a_directory_that_cannot_be_is_refused_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ImageFault, match="--cache"):
        Cache(tmp_path / "file" / "cache")


def test_where_it_is_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/user")
    monkeypatch.delenv("INGOT_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert default_directory() == Path("/home/user/.cache/ingot")
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/cache/user")
    assert default_directory() == Path("/var/cache/user/ingot")
    monkeypatch.setenv("INGOT_CACHE", "/srv/chunks")
    assert default_directory() == Path("/srv/chunks")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_directory_that_another_user_made_is_refused(tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    directory.mkdir(mode=0o777)
    os.chown(directory, 65534, 65534)
    with pytest.raises(ImageFault, match=r"it belongs to user 65534, not 0; name another directory with --cache"):
        Cache(directory)
