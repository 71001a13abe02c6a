"""Layers in zstd:chunked form: written by us, unpacked by other tools, read in pieces."""

import hashlib
import io
import os
import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from backports import zstd

from ingot.images.blob import FileBlob
from ingot.images.chunk import CHUNK_SIZE, Chunk
from ingot.images.content import FileContent, read
from ingot.images.fault import ImageFault
from ingot.images.registry.failover import FailoverBlob
from ingot.images.zstd_chunked.layer import ChunkedFile
from ingot.images.zstd_chunked.position import FOOTER_SIZE, POSITION, Position
from ingot.images.zstd_chunked.remote import MOST_READ, RemoteChunks, open_chunk, runs
from ingot.images.zstd_chunked.toc import read_toc
from ingot.images.zstd_chunked.writer import LayerWriter, chunk_size

NAME = "disk/disk.img"
# Two chunks of data, three of zeros, one of data, and a short one.
DATA = os.urandom(2 * CHUNK_SIZE) + bytes(3 * CHUNK_SIZE) + b"ingot" * 20000 + os.urandom(1000)


class Layer:
    """A layer with DATA in it, as a file."""

    def __init__(self, directory: Path, data: bytes) -> None:
        source = directory / "source"
        source.write_bytes(data)
        self.path = directory / "layer"
        self.seen: list[tuple[int, int]] = []
        with FileContent(source) as content:
            writer = LayerWriter(content, "disk", "disk.img", progress=lambda *seen: self.seen.append(seen))
            self.path.write_bytes(b"".join(writer))
        self.annotations, self.diff_id = writer.annotations, writer.diff_id

    def open(self) -> ChunkedFile:
        blob = FileBlob(self.path)
        return ChunkedFile(blob.subject, read_toc(blob, self.annotations).pieces(NAME), RemoteChunks(blob))


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Layer:
    return Layer(tmp_path_factory.mktemp("layer"), DATA)


def test_is_an_ordinary_layer(layer: Layer) -> None:
    plain = subprocess.run(["zstd", "-dc", str(layer.path)], capture_output=True, check=True).stdout
    assert f"sha256:{hashlib.sha256(plain).hexdigest()}" == layer.diff_id
    with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
        assert [(member.name, member.isdir()) for member in tar] == [("disk", True), (NAME, False)]
        file = tar.extractfile(NAME)
        assert file is not None
        assert file.read() == DATA
        assert (tar.getmember(NAME).uid, tar.getmember(NAME).mode) == (107, 0o440)


def test_is_the_same_when_it_is_made_again(layer: Layer, tmp_path: Path) -> None:
    """As when a registry loses it on the way, at its front or when all of it was sent."""
    (tmp_path / "source").write_bytes(DATA)
    with FileContent(tmp_path / "source") as content:
        writer = LayerWriter(content, "disk", "disk.img")
        left = iter(writer)
        next(left), next(left)
        for _ in range(2):
            assert b"".join(writer) == layer.path.read_bytes()
            assert (writer.annotations, writer.diff_id) == (layer.annotations, layer.diff_id)


def test_is_read_whole_and_in_parts(layer: Layer) -> None:
    file = layer.open()
    assert read(file, 0, file.size) == DATA
    for start, end in [(0, 1), (65535, 65537), (131071, 5 * 65536 + 1), (3 * 65536, 3 * 65536 + 10), (len(DATA),) * 2]:
        assert read(file, start, end - start) == DATA[start:end]
    with pytest.raises(ImageFault, match="are wanted of"):
        read(file, file.size - 1, 2)


def test_zeros_are_holes_and_are_not_fetched(layer: Layer) -> None:
    file = layer.open()
    found = list(file.extents(0, file.size))
    assert [(each.start, each.end, each.data) for each in found] == [
        (0, 2 * CHUNK_SIZE, True),
        (2 * CHUNK_SIZE, 5 * CHUNK_SIZE, False),
        (5 * CHUNK_SIZE, len(DATA), True),
    ]
    assert [each.start for each in file.extents(CHUNK_SIZE + 1, CHUNK_SIZE + 9)] == [CHUNK_SIZE + 1]
    asked = Recording(file.chunks)
    assert read(ChunkedFile("x", file.pieces, asked), 2 * CHUNK_SIZE, CHUNK_SIZE) == bytes(CHUNK_SIZE)
    assert asked.chunks == []


def test_small_reads_of_a_chunk_fetch_it_once(layer: Layer) -> None:
    file = layer.open()
    with FileBlob(layer.path) as blob:
        counted = Counting(blob)
        small = ChunkedFile("x", file.pieces, counted)
        for start in (10, 20, 100, CHUNK_SIZE - 5):
            assert read(small, start, 5) == DATA[start : start + 5]
        assert counted.fetched == 1
        assert read(small, 100, CHUNK_SIZE) == DATA[100 : 100 + CHUNK_SIZE]
        assert counted.fetched == 2
        assert read(small, 0, 2 * CHUNK_SIZE) == DATA[: 2 * CHUNK_SIZE]


def test_pieces_that_end_within_chunks_fetch_each_once(layer: Layer) -> None:
    """Whoever reads on at a place need not be who read up to it."""
    file = layer.open()
    with FileBlob(layer.path) as blob:
        counted = Counting(blob)
        shared = ChunkedFile("x", file.pieces, counted)
        step = CHUNK_SIZE * 3 // 8
        found = [bytearray(len(DATA[start : start + step])) for start in range(0, len(DATA), step)]
        for first in (0, 2, 1, 3):
            for index in range(first, len(found), 4):
                shared.readinto(index * step, memoryview(found[index]))
        assert b"".join(found) == DATA
        assert counted.fetched == len(list(file.pieces.chunks()))


def test_a_chunk_that_could_not_be_fetched_is_tried_again(layer: Layer) -> None:
    file = layer.open()
    with FileBlob(layer.path) as blob:
        broken = Breaking(blob)
        tried = ChunkedFile("x", file.pieces, broken)
        with pytest.raises(ImageFault, match="the line broke"):
            read(tried, 10, 5)
        assert read(tried, 10, 5) == DATA[10:15]


class Breaking(RemoteChunks):
    broken = False

    def fill(self, chunks: Sequence[Chunk], places: Sequence[memoryview]) -> None:
        if not self.broken:
            self.broken = True
            raise ImageFault("x", "ConnectionLost", "the line broke")
        super().fill(chunks, places)


class Counting(RemoteChunks):
    fetched = 0

    def fill(self, chunks: Sequence[Chunk], places: Sequence[memoryview]) -> None:
        self.fetched += len(chunks)
        super().fill(chunks, places)


class Recording:
    def __init__(self, below: object) -> None:
        self.below = below
        self.chunks: list[Chunk] = []

    def fetch(self, chunks: Sequence[Chunk]) -> Sequence[bytes]:
        self.chunks += chunks
        return list(self.below.fetch(chunks))  # type: ignore[attr-defined]


@pytest.mark.parametrize("part", ["chunks", "table"])
def test_a_mirror_whose_bytes_are_wrong_is_left(layer: Layer, tmp_path: Path, part: str) -> None:
    damaged = bytearray(layer.path.read_bytes())
    with FileBlob(layer.path) as right:
        pieces = read_toc(right, layer.annotations).pieces(NAME)
        first = next(pieces.chunks())
        place = first.start if part == "chunks" else int(layer.annotations[POSITION].partition(":")[0])
        damaged[place + 10] ^= 1
        (tmp_path / "mirror").write_bytes(damaged)
        with FileBlob(tmp_path / "mirror") as wrong:
            blob = FailoverBlob([wrong, right])
            around = AroundBlob(blob)
            pieces = read_toc(blob, layer.annotations).pieces(NAME)
            assert blob.current() is (wrong if part == "chunks" else right)
            file = ChunkedFile("x", pieces, RemoteChunks(around, blob))
            assert read(file, 0, file.size) == DATA
            assert blob.current() is right
            with pytest.raises(ImageFault, match="chunk at byte"):
                list(RemoteChunks(blob).fetch([replace(first, digest=bytes(32))]))


class AroundBlob(FailoverBlob):
    """As what is around another blob: it has no places to leave."""

    def __init__(self, blob: FailoverBlob) -> None:
        super().__init__([blob])


def test_the_same_file_gives_the_same_layer(layer: Layer, tmp_path: Path) -> None:
    assert Layer(tmp_path, DATA).path.read_bytes() == layer.path.read_bytes()


def test_progress_is_in_bytes_of_the_file(layer: Layer) -> None:
    assert layer.seen == [(len(DATA), len(DATA))]


def test_footer_says_what_the_annotations_say(layer: Layer) -> None:
    data = layer.path.read_bytes()
    position = Position.from_footer("layer", data[-FOOTER_SIZE:], len(data))
    assert layer.annotations[POSITION] == f"{position.start}:{position.length}:{position.size}:1"


@pytest.mark.parametrize("size", [0, 1, CHUNK_SIZE])
def test_files_of_at_most_one_chunk(tmp_path: Path, size: int) -> None:
    layer = Layer(tmp_path, b"x" * size)
    file = layer.open()
    assert read(file, 0, file.size) == b"x" * size
    assert len(file.pieces) == min(size, 1)


def test_chunks_grow_where_there_would_be_too_many() -> None:
    assert chunk_size(30 << 30) == CHUNK_SIZE
    assert chunk_size(1 << 40) == 2 << 20
    assert (1 << 40) / chunk_size(1 << 40) <= 1 << 19


def test_neighbours_come_in_one_request() -> None:
    near = [Chunk(b"", 10, start, start + 10) for start in (0, 10, 20)]
    assert [list(run) for run in runs(near)] == [near]
    far = [near[0], Chunk(b"", 10, 50000, 50010), near[1], near[2]]
    assert [len(run) for run in runs(far)] == [1, 1, 2]
    large = [Chunk(b"", MOST_READ, start, start + MOST_READ // 2) for start in range(0, 2 * MOST_READ, MOST_READ // 2)]
    assert [len(run) for run in runs(large)] == [2, 2]
    assert list(runs([])) == []


def test_a_changed_chunk_is_noticed(layer: Layer, tmp_path: Path) -> None:
    file = layer.open()
    chunk = file.pieces.chunk(0)
    assert chunk is not None
    other = tmp_path / "other"
    data = bytearray(layer.path.read_bytes())
    data[chunk.start : chunk.end] = zstd.compress(b"y" * CHUNK_SIZE)[: chunk.end - chunk.start].ljust(
        chunk.end - chunk.start, b"\0"
    )
    other.write_bytes(data)
    with FileBlob(other) as blob, pytest.raises(ImageFault) as fault:
        read(ChunkedFile("other", file.pieces, RemoteChunks(blob)), 0, 10)
    assert fault.value.reason in ("BadChunk", "WrongDigest")
    with FileBlob(other) as blob:
        assert read(ChunkedFile("other", file.pieces, RemoteChunks(blob)), CHUNK_SIZE, 10) == DATA[CHUNK_SIZE:][:10]


def _chunk(frame: bytes, content: bytes) -> Chunk:
    return Chunk(hashlib.sha256(content).digest(), len(content), 0, len(frame))


def test_a_chunk_may_have_several_frames() -> None:
    frame = zstd.compress(b"a" * 100) + zstd.compress(b"") + zstd.compress(b"b" * 100)
    assert open_chunk("x", _chunk(frame, b"a" * 100 + b"b" * 100), frame) == b"a" * 100 + b"b" * 100


def test_frames_that_are_not_the_chunk_are_refused() -> None:
    bomb = zstd.compress(bytes(64 << 20))
    whole = zstd.compress(b"a" * 100)
    cases = {
        "larger": (bomb, _chunk(bomb, bytes(1000))),
        "smaller": (whole, _chunk(whole, b"a" * 101)),
        "another": (whole, _chunk(whole, b"b" * 100)),
        "cut": (whole[:-3], _chunk(whole, b"a" * 100)),
        "one more": (whole + whole, _chunk(whole, b"a" * 100)),
        "rubbish behind": (whole + b"rubbish", _chunk(whole, b"a" * 100)),
        "no frame": (b"rubbish!", _chunk(whole, b"a" * 100)),
        "nothing": (b"", _chunk(whole, b"a" * 100)),
        "a format of 2015": (b"\x27\xb5\x2f\xfd" + whole[4:], _chunk(whole, b"a" * 100)),
        "the same behind a frame": (whole + b"\x27\xb5\x2f\xfd" + whole[4:], _chunk(whole, b"a" * 100)),
    }
    for name, (frame, chunk) in cases.items():
        with pytest.raises(ImageFault) as fault:
            open_chunk("x", replace(chunk, end=len(frame)), frame)
        assert fault.value.reason in ("BadChunk", "WrongDigest"), name
        assert fault.value.reason in ("BadChunk", "WrongDigest")
        assert "have its registry delete that blob and push the image anew" in fault.value.message
