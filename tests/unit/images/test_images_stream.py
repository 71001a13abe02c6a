"""The disk of a blob in one pass: whatever packs it, checked, and resumed at its checkpoints."""

import gzip
import io
import lzma
import tarfile
import threading
import time
from array import array
from collections.abc import Callable
from pathlib import Path

import lz4.frame
import pytest
from backports import zstd

from ingot.images.blob import FileBlob
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.gzip_index import IndexBuilder
from ingot.images.stream import Stream, open_stream

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, 1),
    "zstd": zstd.compress,
    "xz": lambda data: lzma.compress(data, preset=0),
    "lz4": lz4.frame.compress,
    "none": bytes,
}


def disk(size: int) -> bytes:
    """Bytes of which no two blocks are the same, and which compress to about a third."""
    return array("I", range(-(-size // 4))).tobytes()[:size]


def layer(*files: tuple[str, bytes]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name, body in files:
            info = tarfile.TarInfo(name)
            info.size = len(body)
            tar.addfile(info, io.BytesIO(body))
    return file.getvalue()


def blob(path: Path, data: bytes) -> FileBlob:
    path.write_bytes(data)
    return FileBlob(path)


def rest(stream: Stream) -> bytes:
    with stream:
        return b"".join(bytes(piece) for piece in stream)


def fault(stream: Stream) -> ImageFault:
    with pytest.raises(ImageFault) as caught:
        rest(stream)
    return caught.value


@pytest.mark.parametrize("name", PACKERS)
def test_a_disk_comes_out_of_its_layer(name: str, tmp_path: Path) -> None:
    data = disk(3_000_001)
    packed = PACKERS[name](layer(("etc/a", b"x" * 2_500_000), ("disk/disk.img", data), ("z", b"y" * 2_500_000)))
    with blob(tmp_path / "blob", packed) as source:
        stream = open_stream(source, digest=Digest.of(packed), layer=True)
        assert stream.head(100) == data[:100]
        assert rest(stream) == data
        assert (stream.position, stream.fetched, stream.total) == (len(data), len(packed), len(packed))
        assert stream.member is not None
        assert (stream.member.name, stream.member.size) == ("disk/disk.img", len(data))


@pytest.mark.parametrize("name", PACKERS)
def test_a_disk_comes_out_of_a_file_without_an_archive(name: str, tmp_path: Path) -> None:
    for data in (disk(1_500_000), b"tiny", disk(511), disk(512)):
        with blob(tmp_path / "blob", PACKERS[name](data)) as source:
            stream = open_stream(source)
            assert rest(stream) == data
            assert stream.member is None


def test_an_archive_is_noticed_and_a_layer_must_be_one(tmp_path: Path) -> None:
    with blob(tmp_path / "a", gzip.compress(layer(("disk/a", b"disk")))) as source:
        assert rest(open_stream(source)) == b"disk"
    with blob(tmp_path / "b", gzip.compress(disk(10_000))) as source:
        assert fault(open_stream(source, layer=True)).reason == "BadTar"


def test_the_head_is_given_again(tmp_path: Path) -> None:
    with blob(tmp_path / "blob", disk(2_500_000)) as source, open_stream(source) as stream:
        assert stream.head(2_000_000) == disk(2_000_000)
        assert stream.position == 0
        assert b"".join(map(bytes, stream)) == disk(2_500_000)
    with blob(tmp_path / "short", b"short") as source, open_stream(source) as stream:
        assert stream.head(100) == b"short"
        assert b"".join(map(bytes, stream)) == b"short"


@pytest.mark.parametrize("name", ["gzip", "none"])
def test_what_a_slow_reader_holds_is_not_written_over(name: str, tmp_path: Path) -> None:
    data = disk(4_000_000)
    packed = PACKERS[name](layer(("disk/a", data), ("other", bytes(15 << 20))))
    with blob(tmp_path / "blob", packed) as source, open_stream(source, layer=True) as stream:
        out = bytearray()
        for piece in stream:
            before = -1
            while before != stream.fetched:
                # The stages before run ahead as far as they can.
                before = stream.fetched
                time.sleep(0.02)
            out += piece
    assert out == data


def test_a_wrong_digest_is_noticed_at_the_end(tmp_path: Path) -> None:
    packed = gzip.compress(layer(("disk/a", disk(100_000))))
    with blob(tmp_path / "blob", packed) as source:
        caught = fault(open_stream(source, digest=Digest.of(b"other")))
        assert (caught.reason, caught.subject) == ("WrongDigest", str(tmp_path / "blob"))
        assert fault(open_stream(source, digest=Digest("sha512", "0" * 128))).reason == "Unsupported"


@pytest.mark.parametrize("name", [name for name in PACKERS if name != "none"])
def test_truncated_and_empty_blobs_are_noticed(name: str, tmp_path: Path) -> None:
    packed = PACKERS[name](layer(("disk/a", disk(300_000))))
    with blob(tmp_path / "blob", packed[:-20]) as source:
        assert fault(open_stream(source)).reason == "Truncated"
    with blob(tmp_path / "empty", b"") as source:
        assert fault(open_stream(source)).reason == "Truncated"


@pytest.mark.parametrize("name", PACKERS)
def test_no_more_comes_than_the_limit(name: str, tmp_path: Path) -> None:
    bomb = bytes(12 << 20)
    with blob(tmp_path / "blob", PACKERS[name](bomb)) as source:
        with open_stream(source, limit=4 << 20) as stream:
            caught = fault(stream)
            assert (caught.reason, stream.position <= 4 << 20) == ("TooLarge", True)
        assert rest(open_stream(source, limit=len(bomb))) == bomb
    with blob(tmp_path / "layer", PACKERS[name](layer(("disk/a", bomb)))) as source:
        assert fault(open_stream(source, limit=len(bomb) - 1)).reason == "TooLarge"


def test_what_is_beside_the_disk_is_bounded_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.images.decoding._MOST_BESIDE", 1 << 20)
    packed = gzip.compress(layer(("other", bytes(20 << 20)), ("disk/a", b"disk")))
    with blob(tmp_path / "blob", packed) as source:
        assert fault(open_stream(source, limit=1 << 20)).reason == "TooLarge"


@pytest.mark.parametrize("name", ["gzip", "none"])
def test_a_stream_goes_on_from_each_of_its_checkpoints(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingot.images.decoding._CUT", 1)
    monkeypatch.setattr("ingot.images.fetching.PIECE", 100_000)
    data = disk(3_000_000)
    packed = PACKERS[name](layer(("etc/a", b"x" * 1000), ("disk/disk.img", data), ("z", disk(1_000_000))))
    digest = Digest.of(packed)
    kept: list[tuple[int, bytes]] = []
    with blob(tmp_path / "blob", packed) as source:
        with open_stream(source, digest=digest, layer=True) as stream:
            for _ in stream:
                if (checkpoint := stream.checkpoint()) is not None:
                    kept.append((stream.position, checkpoint))
        assert len(kept) > 5
        for position, checkpoint in kept:
            stream = open_stream(source, digest=digest, resume=checkpoint, layer=True)
            assert (stream.position, stream.fetched > 0) == (position, True)
            assert rest(stream) == data[position:]
            assert stream.member is not None
        # The hash goes on as well: what was wrong before the checkpoint is noticed behind it.
        assert fault(open_stream(source, digest=Digest.of(b""), resume=checkpoint)).reason == "WrongDigest"


@pytest.mark.parametrize("name", ["zstd", "xz", "lz4"])
def test_frames_are_resumed_between_them(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.images.decoding._CUT", 1)
    parts = [disk(100_000 + number) for number in range(8)]
    packed = b"".join(map(PACKERS[name], parts))
    digest = Digest.of(packed)
    with blob(tmp_path / "blob", packed) as source:
        with open_stream(source, digest=digest) as stream:
            taken = bytes(next(stream))
            while (checkpoint := stream.checkpoint()) is None:
                taken += next(stream)
        assert taken == parts[0]
        again = rest(open_stream(source, digest=digest, resume=checkpoint))
    assert taken + again == b"".join(parts)


def test_a_checkpoint_that_is_damaged_or_of_another_blob_is_refused(tmp_path: Path) -> None:
    with blob(tmp_path / "blob", disk(6 << 20)) as source:
        with open_stream(source) as stream:
            while (checkpoint := stream.checkpoint()) is None:
                next(stream)
        for damaged in (b"", checkpoint[:-1], checkpoint[:50] + b"x" + checkpoint[51:]):
            with pytest.raises(ImageFault) as caught:
                open_stream(source, resume=damaged)
            assert caught.value.reason == "Damaged"
    with blob(tmp_path / "other", disk(1 << 20)) as source, pytest.raises(ImageFault, match="6291456 bytes"):
        open_stream(source, resume=checkpoint)


def test_no_index_is_made_from_the_middle_on(tmp_path: Path) -> None:
    with (
        blob(tmp_path / "blob", b"disk") as source,
        IndexBuilder(tmp_path / "index", Digest.of(b"disk"), 4) as builder,
        pytest.raises(ValueError, match="whole blob"),
    ):
        open_stream(source, resume=b"checkpoint", index=builder)


def test_a_stream_that_is_closed_early_leaves_no_thread(tmp_path: Path) -> None:
    before = threading.active_count()
    with blob(tmp_path / "blob", gzip.compress(disk(12 << 20), 1)) as source:
        with open_stream(source) as stream:
            next(stream)
        assert threading.active_count() == before
        open_stream(source).close()
        assert threading.active_count() == before
