"""Random access to foreign layers through an index that was made in one pass."""

import gzip
import io
import os
import random
import stat
import tarfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from backports import zstd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingot.images import gzip_index
from ingot.images.blob import FileBlob
from ingot.images.chunk import Chunk
from ingot.images.content import read
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.gzip_index import Index, IndexBuilder, Obstacle
from ingot.images.indexed_blob import IndexedBlob, IndexedChunks
from ingot.images.recent import Recent
from ingot.images.stream import open_stream


def disk(size: int) -> bytes:
    """Bytes that compress to about a half, with a large hole in the middle."""
    source = random.Random(7)  # noqa: S311 - the same bytes every time
    half = bytearray()
    while len(half) < size // 4:
        half += source.randbytes(600) + b"and some words that come again and again" * 15
    return bytes(half) + bytes(size // 2) + bytes(half)


DISK = disk(12 << 20)


def layer() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name, body in (("etc/a", b"x" * 5000), ("disk/disk.img", DISK), ("z", b"y" * 100)):
            info = tarfile.TarInfo(name)
            info.size = len(body)
            tar.addfile(info, io.BytesIO(body))
    return file.getvalue()


LAYER = layer()


def members(data: bytes) -> bytes:
    return b"".join(gzip.compress(data[start : start + 700_001], 1) for start in range(0, len(data), 700_001))


def frames(data: bytes) -> bytes:
    return b"".join(zstd.compress(data[start : start + 300_000]) for start in range(0, len(data), 300_000))


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, 1) + bytes(3000),
    "members": members,
    "frames": frames,
    "none": bytes,
}


class Indexed:
    """A blob of a layer, and the index that a pass over it has made."""

    def __init__(self, directory: Path, packed: bytes) -> None:
        self.path = directory / "blob"
        self.path.write_bytes(packed)
        self.index_path = directory / "index"
        self.digest = Digest.of(packed)
        self.blob = FileBlob(self.path)
        with IndexBuilder(self.index_path, self.digest, len(packed)) as builder:
            with open_stream(self.blob, digest=self.digest, layer=True, index=builder) as stream:
                assert b"".join(map(bytes, stream)) == DISK
            self.made = builder.made

    def open(self) -> Index:
        return Index(self.index_path, self.digest)


@pytest.fixture(scope="module", params=PACKERS)
def indexed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    made = Indexed(tmp_path_factory.mktemp(request.param), PACKERS[request.param](LAYER))
    yield made
    made.blob.close()


@pytest.fixture(scope="module")
def gzipped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    made = Indexed(tmp_path_factory.mktemp("gzipped"), PACKERS["gzip"](LAYER))
    yield made
    made.blob.close()


def test_every_span_is_there_and_right(indexed: Indexed) -> None:
    assert indexed.made
    with indexed.open() as index:
        assert index.size >= len(LAYER)
        assert len(index.chunks) > 5
        assert max(chunk.size for chunk in index.chunks) <= 3 << 20
        contents = IndexedChunks(indexed.blob, index).fetch(index.chunks)
        assert b"".join(map(bytes, contents))[: len(LAYER)] == LAYER
        assert index.member is not None
        assert (index.member.name, index.member.size) == ("disk/disk.img", len(DISK))


def test_it_is_private_and_what_was_left_of_one_is_replaced(tmp_path: Path) -> None:
    (tmp_path / ".index.part").write_bytes(b"left by a process that was killed")
    (tmp_path / ".index.part").chmod(0o644)
    made = Indexed(tmp_path, PACKERS["members"](LAYER))
    made.blob.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["blob", "index"]
    assert stat.S_IMODE(made.index_path.stat().st_mode) == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_one_of_another_user_is_not_used(tmp_path: Path) -> None:
    made = Indexed(tmp_path, PACKERS["members"](LAYER))
    made.blob.close()
    os.chown(made.index_path, 65534, 65534)
    with pytest.raises(ImageFault, match="it belongs to user 65534"):
        made.open()


@pytest.mark.parametrize("missing", [30, 1000, 50_000])
def test_one_that_would_be_too_large_is_not_made(tmp_path: Path, gzipped: Indexed, missing: int) -> None:
    path, limit = tmp_path / "index", gzipped.index_path.stat().st_size - missing
    with IndexBuilder(path, gzipped.digest, gzipped.blob.size, limit) as builder:
        with open_stream(gzipped.blob, digest=gzipped.digest, layer=True, index=builder) as stream:
            assert sum(len(piece) for piece in stream) == len(DISK)
        assert not builder.made
        assert builder._scratch.stat().st_size <= limit
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("spare", [-1, 0])
def test_one_of_too_many_points_is_not_made(
    tmp_path: Path, gzipped: Indexed, spare: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are in memory long before the end of a layer that unpacks to far more than it has."""
    index = gzipped.open()
    most = len(index.spans) + spare
    index.close()
    monkeypatch.setattr(gzip_index, "MOST_POINTS", most)
    with IndexBuilder(tmp_path / "index", gzipped.digest, gzipped.blob.size) as builder:
        with open_stream(gzipped.blob, digest=gzipped.digest, layer=True, index=builder) as stream:
            assert sum(len(piece) for piece in stream) == len(DISK)
        assert (builder.made, builder.obstacle) == ((True, None) if spare == 0 else (False, Obstacle.POINTS))
        assert len(builder._spans) == most


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(start=st.integers(0, len(DISK)), length=st.integers(0, 2_500_000))
def test_the_disk_is_read_at_any_place(indexed: Indexed, start: int, length: int) -> None:
    length = min(length, len(DISK) - start)
    with indexed.open() as index:
        content = IndexedBlob(indexed.blob, index).disk
        assert content.size == len(DISK)
        assert read(content, start, length) == DISK[start : start + length]
        extents = list(content.extents(start, start + length))
    assert sum(extent.length for extent in extents) == length
    for extent in extents:
        assert extent.data or not any(DISK[extent.start : extent.end])
    assert [extent.stored for extent in extents] == sorted(extent.stored for extent in extents)


def test_holes_are_known_and_ends_are_kept(gzipped: Indexed) -> None:
    with gzipped.open() as index:
        content = IndexedBlob(gzipped.blob, index)
        holes = sum(extent.length for extent in content.extents(0, content.size) if not extent.data)
        assert holes >= 3 << 20
        with pytest.raises(ImageFault, match="are wanted"):
            read(content, content.size - 5, 6)


def test_threads_read_at_once(gzipped: Indexed) -> None:
    places = random.Random(3).sample(range(len(DISK) - 70_000), 60)  # noqa: S311 - the same every time
    with gzipped.open() as index, ThreadPoolExecutor(6) as pool:
        content = IndexedBlob(gzipped.blob, index).disk
        for place, got in zip(places, pool.map(lambda place: read(content, place, 65536), places), strict=True):
            assert got == DISK[place : place + 65536]


def test_a_blob_that_changed_is_noticed(gzipped: Indexed, tmp_path: Path) -> None:
    changed = bytearray(gzipped.path.read_bytes())
    changed[len(changed) // 3] ^= 1
    (tmp_path / "blob").write_bytes(changed)
    with gzipped.open() as index, FileBlob(tmp_path / "blob") as blob:
        with pytest.raises(ImageFault) as caught:
            read(IndexedBlob(blob, index), 0, index.size)
        assert caught.value.reason in ("WrongDigest", "BadData")
        (tmp_path / "short").write_bytes(changed[:-1])
        with FileBlob(tmp_path / "short") as short, pytest.raises(ImageFault, match="when its index was made"):
            IndexedBlob(short, index)


def test_a_damaged_index_is_noticed(gzipped: Indexed, tmp_path: Path) -> None:
    good = gzipped.index_path.read_bytes()
    path = tmp_path / "index"
    for damaged in (b"", good[:-1], good[:-30], good[:100], good[:-60] + bytes(10) + good[-50:], good + b"x"):
        path.write_bytes(damaged)
        with pytest.raises(ImageFault) as caught:
            Index(path, gzipped.digest)
        assert caught.value.reason == "Damaged"
    with pytest.raises(ImageFault, match="and not of"):
        Index(gzipped.index_path, Digest.of(b"another blob"))
    with pytest.raises(FileNotFoundError):
        Index(tmp_path / "none", gzipped.digest)


def test_a_damaged_point_is_noticed_when_it_is_used(gzipped: Indexed, tmp_path: Path) -> None:
    damaged = bytearray(gzipped.index_path.read_bytes())
    with gzipped.open() as index:
        span = index.spans[1]
    damaged[span.point + span.length // 2] ^= 1
    (tmp_path / "index").write_bytes(damaged)
    with Index(tmp_path / "index", gzipped.digest) as index:
        content = IndexedBlob(gzipped.blob, index)
        assert read(content, 0, 1000) == LAYER[:1000]
        with pytest.raises(ImageFault) as caught:
            read(content, span.start, 1000)
        assert caught.value.reason == "Damaged"


def test_a_chunk_that_the_index_does_not_have_is_refused(gzipped: Indexed) -> None:
    with gzipped.open() as index, pytest.raises(ImageFault, match="no span"):
        list(IndexedChunks(gzipped.blob, index).fetch([Chunk(bytes(32), 10, 5, 50)]))


def test_only_a_whole_and_right_blob_gets_an_index(tmp_path: Path) -> None:
    packed = gzip.compress(LAYER, 1)
    (tmp_path / "blob").write_bytes(packed)
    wrong = Digest.of(b"")
    with FileBlob(tmp_path / "blob") as blob:
        with IndexBuilder(tmp_path / "index", wrong, len(packed)) as builder:
            with open_stream(blob, digest=wrong, layer=True, index=builder) as stream, pytest.raises(ImageFault):
                list(stream)
            assert not builder.made
        with (
            IndexBuilder(tmp_path / "index", Digest.of(packed), len(packed)) as builder,
            open_stream(blob, layer=True, index=builder) as stream,
        ):
            next(stream)
        assert not builder.made
    assert [path.name for path in tmp_path.iterdir()] == ["blob"]


def test_a_stream_without_places_to_begin_at_gets_none(tmp_path: Path) -> None:
    made = Indexed(tmp_path, zstd.compress(LAYER))
    made.blob.close()
    assert not made.made
    assert not made.index_path.exists()


class Counting:
    """Chunks of their own digest; `fetch` waits until it may go on."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.go = threading.Event()

    def fetch(self, chunks: Sequence[Chunk]) -> Iterator[bytes]:
        self.go.wait(10)
        for chunk in chunks:
            self.asked.append(chunk.start)
            if chunk.start == 13:
                raise ImageFault("blob", "Lost", "it is gone", retry=True)
            yield b"%d" % chunk.start


def chunk(start: int) -> Chunk:
    return Chunk(bytes(32), 1, start, start + 1)


def test_recent_chunks_are_fetched_once_and_forgotten_in_turn() -> None:
    counting = Counting()
    recent = Recent(counting, 3)
    with ThreadPoolExecutor(4) as pool:
        results = [pool.submit(lambda: list(recent.fetch([chunk(1), chunk(2)]))) for _ in range(4)]
        counting.go.set()
        assert [result.result() for result in results] == [[b"1", b"2"]] * 4
    assert counting.asked == [1, 2]
    assert list(recent.fetch([chunk(n) for n in range(3, 10)])) == [b"%d" % n for n in range(3, 10)]
    assert list(recent.fetch([chunk(9), chunk(1)])) == [b"9", b"1"]
    assert counting.asked == [1, 2, *range(3, 10), 1]


def test_a_chunk_that_failed_is_fetched_again() -> None:
    counting = Counting()
    counting.go.set()
    recent = Recent(counting, 3)
    for _ in range(2):
        with pytest.raises(ImageFault):
            list(recent.fetch([chunk(12), chunk(13), chunk(14)]))
    assert counting.asked == [12, 13, 13]
    assert list(recent.fetch([chunk(14)])) == [b"14"]
