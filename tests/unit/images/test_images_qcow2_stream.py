"""qcow2 images that arrive from front to back: what waits, and how an import goes on."""

import os
import shutil
import struct
import subprocess
from array import array
from pathlib import Path

import pytest
from qcow2_images import HEADER, Arriving, by_qemu, by_stream, create, fields, noise, patch, write

from ingot.images.fault import ImageFault
from ingot.images.qcow2 import spool as spool_module
from ingot.images.qcow2 import stream as stream_module
from ingot.images.qcow2.stream import Qcow2Stream

CLUSTER = 1 << 16
MIB = 1 << 20
SMALL = ("-o", "cluster_size=4096")


@pytest.fixture
def converted(tmp_path: Path) -> Path:
    """What qemu-img makes: L2 tables for 2 MiB each, every one before its data."""
    raw = noise(tmp_path / "disk.raw", 3 * MIB)
    with raw.open("r+b") as file:
        file.seek(9 * MIB)
        file.write(b"far!" * (MIB >> 1))
    path = tmp_path / "disk.qcow2"
    subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", "qcow2", *SMALL, raw, path], check=True)
    return path


@pytest.fixture
def late(tmp_path: Path) -> Path:
    """An image whose first L2 table was moved behind its data."""
    path = create(tmp_path / "late.qcow2", 8 * MIB)
    write(path, f"write -s {noise(tmp_path / 'noise', MIB)} 0 1M")
    l1, l2 = fields(path)
    end = -(-path.stat().st_size // CLUSTER) * CLUSTER
    patch(path, end, f"{CLUSTER}s", path.read_bytes()[l2 : l2 + CLUSTER])  # type: ignore[arg-type]
    return patch(path, l1, "Q", end)


def fed(path: Path, arriving: Arriving) -> bytes:
    arriving.stream.feed(path.read_bytes())
    try:
        return arriving.finish()
    finally:
        arriving.stream.close()


def test_of_an_image_by_qemu_only_the_tables_wait(converted: Path, tmp_path: Path) -> None:
    arriving = Arriving(tmp_path / "spool")
    assert fed(converted, arriving) == by_qemu(converted)
    # Header, refcounts and their table, L1, and four L2.
    assert arriving.stream.spooled == 8 * 4096
    assert (tmp_path / "spool").stat().st_blocks * 512 <= 8 * 4096
    assert (tmp_path / "spool").stat().st_mode & 0o777 == 0o600


def test_data_before_their_table_wait(late: Path, tmp_path: Path) -> None:
    arriving = Arriving(tmp_path / "spool")
    assert fed(late, arriving) == by_qemu(late)
    assert arriving.stream.spooled >= MIB


def test_the_size_is_known_with_the_header(converted: Path, tmp_path: Path) -> None:
    stream = Qcow2Stream(lambda start, data: None, tmp_path / "spool")
    assert stream.size is None
    stream.feed(converted.read_bytes()[:511])
    assert stream.size is None
    stream.feed(converted.read_bytes()[511:512])
    assert stream.size == 11 * MIB
    stream.close()


def test_a_kill_at_any_place(late: Path, converted: Path, tmp_path: Path) -> None:
    for path in (late, converted):
        data, expected = path.read_bytes(), by_qemu(path)
        for piece in (100, 511, 3 * CLUSTER + 1, 2 * MIB, 2 * MIB + 1, len(data)):
            arriving = Arriving(tmp_path / "spool")
            for at in (0, piece):
                arriving.stream.feed(data[at : at + piece])
                arriving.again()
            arriving.stream.feed(data[2 * piece :])
            arriving.again()
            assert len(arriving.stream.state()) < 200
            assert arriving.finish() == expected
            # A kill while what waited is written: that is done again.
            arriving.again()
            assert arriving.finish() == expected
            arriving.stream.close()


@pytest.mark.parametrize("packed", [False, True])
def test_what_older_states_needed_is_given_back(tmp_path: Path, packed: bool) -> None:
    path, spool = tmp_path / "disk.qcow2", tmp_path / "spool"
    options = ("-c",) if packed else ()
    raw = noise(tmp_path / "disk.raw", 24 * MIB)
    subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", "qcow2", *options, raw, path], check=True)
    data, piece = path.read_bytes(), 300_000
    arriving = Arriving(spool)
    latest = lasting = arriving.stream.state()
    arriving.stream.note(lasting=False)
    for number, at in enumerate(range(0, len(data), piece)):
        arriving.stream.feed(data[at : at + piece])
        state = arriving.stream.state()
        # What is not noted yet, what was noted last, and what would be after the loss of the machine.
        assert spool.stat().st_blocks * 512 < arriving.stream.spooled + 9 * MIB
        if number % 20 in (6, 13):
            for stood in (latest, lasting):
                shutil.copy(spool, tmp_path / "copy")
                again = Arriving(tmp_path / "unused")
                again.stream.close()
                again.disk = bytearray(arriving.disk)
                again.stream = Qcow2Stream.resume(stood, again.put, tmp_path / "copy")
                again.stream.feed(data[again.stream.position :])
                assert again.finish() == raw.read_bytes()
                again.stream.close()
        arriving.stream.note(lasting=number % 20 == 3)
        latest, lasting = (latest, state) if number % 20 == 3 else (state, lasting)
    assert arriving.finish() == raw.read_bytes()
    arriving.stream.close()


def test_what_an_earlier_process_has_noted_is_not_given_back(converted: Path, tmp_path: Path) -> None:
    data, spool = converted.read_bytes(), tmp_path / "spool"
    arriving = Arriving(spool)
    noted = []
    for end, lasting in ((100_000, False), (600_000, True)):
        arriving.stream.feed(data[arriving.stream.position : end])
        noted.append(arriving.stream.state())
        arriving.stream.note(lasting)
    arriving.stream.close()
    # It is killed, and later the machine is lost.
    arriving.stream = Qcow2Stream.resume(noted[0], arriving.put, spool)
    for end in range(300_000, 4_000_000, 500_000):
        arriving.stream.feed(data[arriving.stream.position : end])
        arriving.stream.state()
        arriving.stream.note(lasting=False)
    arriving.stream.close()
    arriving.stream = Qcow2Stream.resume(noted[1], arriving.put, spool)
    arriving.stream.feed(data[arriving.stream.position :])
    assert arriving.finish() == by_qemu(converted)
    arriving.stream.close()


def test_what_was_fed_after_a_state_is_written_again(converted: Path, tmp_path: Path) -> None:
    data = converted.read_bytes()
    arriving = Arriving(tmp_path / "spool")
    arriving.stream.feed(data[: 2 * MIB + 10])
    state = arriving.stream.state()
    arriving.stream.feed(data[2 * MIB + 10 :])
    arriving.stream.sync()
    arriving.stream.close()
    arriving.stream = Qcow2Stream.resume(state, arriving.put, tmp_path / "spool")
    arriving.stream.feed(data[arriving.stream.position :])
    assert arriving.finish() == by_qemu(converted)
    arriving.stream.close()


@pytest.mark.parametrize("packed", [False, True])
def test_what_a_bad_tail_has_written_is_stale(
    converted: Path, tmp_path: Path, packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server sends other tables and data behind a state, and then goes away; the next one sends the right ones."""
    monkeypatch.setattr(stream_module, "_WINDOW", 1 << 18)
    if packed:
        raw = converted.with_name("disk.raw")
        subprocess.run(["qemu-img", "convert", "-c", "-f", "raw", "-O", "qcow2", *SMALL, raw, converted], check=True)
    honest, expected = converted.read_bytes(), by_qemu(converted)
    l1, _ = fields(converted)
    (second,) = struct.unpack_from(">Q", honest, l1 + 8)
    second &= (1 << 56) - 1
    evil = bytearray(honest)
    # The table's unused half refers to what its other half has.
    evil[second + 2048 : second + 4096] = honest[second : second + 2048]
    assert any(honest[second : second + 2048])
    assert not any(honest[second + 2048 : second + 4096])
    kept: list[int] = []
    for cut in range(second - (1 << 19), second + (1 << 19), 1 << 17):
        arriving = Arriving(tmp_path / "spool")
        arriving.stream.feed(honest[:cut])
        state = arriving.stream.state()
        for at in range(cut, len(evil), 1 << 16):
            arriving.stream.feed(evil[at : at + (1 << 16)])
        arriving.stream.close()
        arriving.stream = Qcow2Stream.resume(state, arriving.put, tmp_path / "spool")
        for start, end in arriving.stream.stale():
            stop = max(min(end, len(arriving.disk)), start)
            kept.append(len(arriving.disk) - (stop - start))
            arriving.disk[start:stop] = bytes(stop - start)
        arriving.stream.feed(honest[cut:])
        assert arriving.finish() == expected
        arriving.stream.close()
    assert max(kept) > MIB


def test_tables_that_say_too_much_at_once_are_left_for_the_end(
    converted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_module, "_MOST_EXPECTED", -1)
    arriving = Arriving(tmp_path / "spool")
    data = converted.read_bytes()
    arriving.stream.feed(data[: 3 * MIB])
    arriving.again()
    arriving.stream.feed(data[3 * MIB :])
    assert arriving.finish() == by_qemu(converted)
    assert arriving.stream.spooled >= 5 * MIB
    arriving.stream.close()


def test_too_many_pieces_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = spool_module.Spool.create(tmp_path / "spool")
    monkeypatch.setattr(spool_module, "_MOST_RANGES", 2)
    for start in (0, 100, 10):
        spool.add(start + 1, memoryview(b"x"))
    with pytest.raises(ImageFault, match="over 2 pieces"):
        spool.add(1000, memoryview(b"x"))
    assert spool.has(101, 1)
    assert not spool.has(102, 1)
    spool.close()


@pytest.mark.parametrize("earlier", [False, True])
def test_a_checkpoint_on_the_disk_leaves_no_use_for_those_before(tmp_path: Path, earlier: bool) -> None:
    path = tmp_path / "spool"
    spool = spool_module.Spool.create(path)
    if earlier:
        spool.close()
        spool = spool_module.Spool.reopen(path, array("Q"), array("Q"))
    for start, lasting in ((0, False), (MIB, True), (2 * MIB, True)):
        spool.keep(start, memoryview(bytearray(b"x" * MIB)))
        spool.note(lasting)
    spool.keep(3 * MIB, memoryview(b""))
    assert path.stat().st_blocks * 512 == MIB
    assert spool.kept(2 * MIB, MIB) == b"x" * MIB
    spool.close()


def test_an_l1_table_at_the_end(tmp_path: Path) -> None:
    path = write(create(tmp_path / "end.qcow2", MIB), "write -P 3 0 64k")
    l1, l2 = fields(path)
    end = -(-path.stat().st_size // CLUSTER) * CLUSTER
    patch(path, end, "Q", l2)
    patch(path, HEADER.size - 32, "Q", end)
    assert struct.unpack_from(">Q", path.read_bytes(), 40)[0] == end != l1
    assert by_stream(path, 999) == by_qemu(path) == bytes([3]) * CLUSTER + bytes(MIB - CLUSTER)


def test_a_checkpoint_that_does_not_fit(converted: Path, tmp_path: Path) -> None:
    arriving = Arriving(tmp_path / "spool")
    arriving.stream.feed(converted.read_bytes()[:MIB])
    state = arriving.stream.state()
    arriving.stream.close()
    for bad in (b"", b"garbage", state[:-3], b"\x96\x07" + state[2:]):
        with pytest.raises(ImageFault) as caught:
            Qcow2Stream.resume(bad, arriving.put, tmp_path / "spool")
        assert (caught.value.reason, caught.value.retry) == ("BadCheckpoint", True)
    os.truncate(tmp_path / "spool", 1000)
    with pytest.raises(ImageFault, match="begin again"):
        Qcow2Stream.resume(state, arriving.put, tmp_path / "spool")
    (tmp_path / "spool").unlink()
    with pytest.raises(ImageFault, match="begin again"):
        Qcow2Stream.resume(state, arriving.put, tmp_path / "spool")


def test_two_tables_that_want_the_same_bytes(tmp_path: Path) -> None:
    """Where the second comes too late for them, only a file that can be read at any place will do."""
    path = create(tmp_path / "two.qcow2", 4 * MIB, cluster=4096)
    write(path, "write -P 1 0 4k", "write -P 2 2M 4k")
    l1, l2 = fields(path)
    data = path.read_bytes()
    (second,) = struct.unpack_from(">Q", data, l1 + 8)
    patch(path, second & ~(1 << 63), "Q", *struct.unpack_from(">Q", data, l2))
    with pytest.raises(ImageFault, match="two of its tables want its bytes"):
        by_stream(path)


def test_a_write_that_fails_is_told(converted: Path, tmp_path: Path) -> None:
    def full(start: int, data: memoryview) -> None:
        raise OSError(28, "No space left on device")

    stream = Qcow2Stream(full, tmp_path / "spool")
    with pytest.raises(OSError, match="No space left"):
        stream.feed(converted.read_bytes())
    stream.close()
