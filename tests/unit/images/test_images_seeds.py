"""Seeds: chunks out of disks on this machine, verified, whatever became of the disks."""

import hashlib
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ingot.images.blob import FileBlob
from ingot.images.chunk import Chunk
from ingot.images.lazy.local_disks import LocalDisks
from ingot.images.pipeline.delta import LocalChunks
from ingot.images.pipeline.sharing import share
from ingot.images.seeds import Place, Seeds, _path, _Table, open_listed, register, withdraw
from ingot.images.zstd_chunked.remote import RemoteChunks

SIZE = 4096


def make(path: Path, numbers: range) -> list[tuple[int, Chunk]]:
    """A disk with a chunk for each number, and where they are."""
    pieces = [number.to_bytes(8, "little") * (SIZE // 8) for number in numbers]
    path.write_bytes(b"".join(pieces))
    return [(place * SIZE, Chunk(hashlib.sha256(piece).digest(), SIZE, 0, 10)) for place, piece in enumerate(pieces)]


def test_chunks_come_from_all_disks(tmp_path: Path) -> None:
    old = make(tmp_path / "old.raw", range(200))
    new = make(tmp_path / "new.raw", range(150, 300))
    register(tmp_path / "seeds", tmp_path / "old.raw", old)
    register(tmp_path / "seeds", tmp_path / "new.raw", new)
    with Seeds(tmp_path / "seeds") as seeds:
        for _, chunk in [*old, *new]:
            data = seeds.get(chunk.digest)
            assert data is not None
            assert hashlib.sha256(data).digest() == chunk.digest
        assert seeds.find(old[7][1].digest) == Place(tmp_path / "old.raw", 7 * SIZE, SIZE)
        for absent in (bytes(32), b"\xff" * 32, hashlib.sha256(b"").digest()):
            assert not seeds.has(absent)
            assert seeds.get(absent) is None


def test_a_changed_disk_gives_nothing_wrong_and_another_one_helps(tmp_path: Path) -> None:
    chunks = make(tmp_path / "good.raw", range(10))
    make(tmp_path / "bad.raw", range(10))
    register(tmp_path / "seeds", tmp_path / "good.raw", chunks)
    register(tmp_path / "seeds", tmp_path / "bad.raw", chunks)
    with (tmp_path / "bad.raw").open("r+b") as file:
        file.seek(3 * SIZE)
        file.write(b"changed")
        file.truncate(8 * SIZE)
    with Seeds(tmp_path / "seeds") as seeds:
        assert all(seeds.get(chunk.digest) is not None for _, chunk in chunks)
    (tmp_path / "good.raw").unlink()
    with Seeds(tmp_path / "seeds") as seeds:
        assert [seeds.get(chunk.digest) is None for _, chunk in chunks].count(True) == 3
    assert len(list((tmp_path / "seeds").iterdir())) == 1


def _from_seeds(seeds: Seeds, chunk: Chunk, disk: int) -> bytes | None:
    return seeds.get(chunk.digest)


def _from_disks(seeds: Seeds, chunk: Chunk, disk: int) -> bytes | None:
    return LocalDisks(seeds._directory.parent).get(chunk.digest)


def _by_sharing(seeds: Seeds, chunk: Chunk, disk: int) -> bytes | None:
    with FileBlob(Path(__file__)) as blob:
        assert share(disk, LocalChunks(RemoteChunks(blob), None, seeds, None), [(0, chunk)]) == 0
    return None


@pytest.mark.parametrize("read", [_from_seeds, _from_disks, _by_sharing])
def test_a_pipe_in_place_of_a_disk_holds_nobody_up(
    tmp_path: Path, read: Callable[[Seeds, Chunk, int], bytes | None]
) -> None:
    disk = tmp_path / "disk.raw"
    ((_, chunk),) = chunks = make(disk, range(1))
    register(tmp_path / "seeds", disk, chunks)
    disk.unlink()
    os.mkfifo(disk)
    done: list[bytes | None] = []
    with Seeds(tmp_path / "seeds") as seeds, (tmp_path / "new.raw").open("w+b") as new:
        thread = threading.Thread(target=lambda: done.append(read(seeds, chunk, new.fileno())), daemon=True)
        thread.start()
        thread.join(5)
        in_time = not thread.is_alive()
        # Who waits for somebody to write to it goes on.
        os.close(os.open(disk, os.O_RDWR))
        thread.join(5)
    assert in_time
    assert done == [None]


@pytest.mark.parametrize("other", ["/dev/zero", "/"])
def test_only_files_and_block_devices_are_opened(other: str) -> None:
    with pytest.raises(OSError, match="neither a regular file nor a block device"):
        open_listed(Path(other))


def test_a_disk_is_withdrawn(tmp_path: Path) -> None:
    chunks = make(tmp_path / "disk.raw", range(3))
    register(tmp_path / "seeds", tmp_path / "disk.raw", chunks)
    withdraw(tmp_path / "seeds", tmp_path / "disk.raw")
    withdraw(tmp_path / "seeds", tmp_path / "disk.raw")
    with Seeds(tmp_path / "seeds") as seeds:
        assert not seeds.has(chunks[0][1].digest)


@pytest.mark.parametrize("length", [0, 3, 40, -1])
def test_a_damaged_table_is_passed_over(tmp_path: Path, length: int) -> None:
    chunks = make(tmp_path / "disk.raw", range(3))
    register(tmp_path / "seeds", tmp_path / "disk.raw", chunks)
    (table,) = (tmp_path / "seeds").iterdir()
    table.write_bytes(table.read_bytes()[:length])
    with Seeds(tmp_path / "seeds") as seeds:
        assert not seeds.has(chunks[0][1].digest)


def test_the_oldest_tables_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.images.seeds._MOST_TABLES", 3)
    for number in range(5):
        disk = tmp_path / f"{number}.raw"
        register(tmp_path / "seeds", disk, make(disk, range(number, number + 1)))
        newest = max((tmp_path / "seeds").iterdir(), key=lambda path: path.stat().st_mtime_ns)
        os.utime(newest, (number + 1, number + 1))
    with Seeds(tmp_path / "seeds") as seeds:
        found = [seeds.has(hashlib.sha256(number.to_bytes(8, "little") * 512).digest()) for number in range(5)]
    assert found == [False, False, True, True, True]


def test_without_a_directory_there_are_none(tmp_path: Path) -> None:
    with Seeds(tmp_path / "none") as seeds:
        assert not seeds.has(bytes(32))


def test_lookups_among_many_tables_do_not_ask_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = {number: make(tmp_path / f"{number}.raw", range(number * 7, number * 7 + 9)) for number in range(40)}
    for number, chunks in pieces.items():
        register(tmp_path / "seeds", tmp_path / f"{number}.raw", chunks)
        os.utime(_path(tmp_path / "seeds", tmp_path / f"{number}.raw"), (number + 1, number + 1))
    asked = []
    find = _Table.find

    def counted(table: _Table, digest: bytes) -> Place | None:
        asked.append(digest)
        return find(table, digest)

    monkeypatch.setattr(_Table, "find", counted)
    with Seeds(tmp_path / "seeds") as seeds:
        digests = [chunk.digest for chunks in pieces.values() for _, chunk in chunks]
        places = [seeds.find(digest) for digest in digests]
        assert [seeds.find(hashlib.sha256(digest).digest()) for digest in digests] == [None] * len(digests)
    assert len(asked) == len(digests)
    # Of two disks that have a chunk, the one that was listed last is taken.
    last = {chunk.digest: (f"{number}.raw", at) for number, chunks in pieces.items() for at, chunk in chunks}
    assert [place and (place.path.name, place.offset) for place in places] == [last[digest] for digest in digests]


def test_digests_that_begin_alike_are_told_apart(tmp_path: Path) -> None:
    digests = [b"\xff" * 31 + bytes([number]) for number in range(5)]
    for number, digest in enumerate(digests[:4]):
        disk = tmp_path / f"{number}.raw"
        disk.touch()
        register(tmp_path / "seeds", disk, [(number * SIZE, Chunk(digest, SIZE, 0, 1))])
    with Seeds(tmp_path / "seeds") as seeds:
        found = [seeds.find(digest) for digest in digests]
    assert [place and place.offset for place in found] == [0, SIZE, 2 * SIZE, 3 * SIZE, None]


def test_threads_share_them(tmp_path: Path) -> None:
    chunks = make(tmp_path / "disk.raw", range(500))
    register(tmp_path / "seeds", tmp_path / "disk.raw", chunks)
    with Seeds(tmp_path / "seeds") as seeds, ThreadPoolExecutor(8) as pool:
        found = list(pool.map(seeds.get, [chunk.digest for _, chunk in chunks]))
        assert b"".join(data or b"" for data in found) == (tmp_path / "disk.raw").read_bytes()
        assert len(seeds._files) == 1
