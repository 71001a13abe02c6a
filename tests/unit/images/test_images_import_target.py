"""Targets: zeros stay holes, every byte gets its place, and what is no place for a disk is refused."""

import os
import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingot.images.fault import ImageFault
from ingot.images.pipeline.buffer import ALIGNMENT, Buffer
from ingot.images.pipeline.qcow2_target import Qcow2Target
from ingot.images.pipeline.target import HOLE, FileTarget, allocate, is_device, write_sparse
from ingot.images.qcow2.layout import CLUSTER


class _Memory:
    """A target that remembers its writes."""

    together = 0

    def __init__(self, size: int) -> None:
        self.data = bytearray(size)
        self.writes: list[tuple[int, int]] = []

    def write(self, start: int, data: memoryview) -> None:
        self.data[start : start + len(data)] = data
        self.writes.append((start, len(data)))

    def clear(self, ranges: Iterable[tuple[int, int]]) -> None:
        for start, end in ranges:
            stop = min(end, len(self.data))
            self.data[start:stop] = bytes(stop - start)

    def sync(self) -> None: ...

    def state(self) -> bytes:
        return b""

    @property
    def end(self) -> int | None:
        return None

    def finish(self, size: int) -> int:
        return size


def _filled(start: int, content: bytes) -> Buffer:
    buffer = Buffer(len(content))
    buffer.place(start, len(content))[:] = content
    return buffer


@given(
    start=st.integers(0, 3 * HOLE),
    parts=st.lists(st.tuples(st.booleans(), st.integers(1, 3 * HOLE)), min_size=1, max_size=6),
)
@settings(max_examples=60, deadline=None)
def test_all_bytes_arrive_and_whole_pieces_of_zeros_are_left_out(start: int, parts: list[tuple[bool, int]]) -> None:
    content = b"".join((b"x" if data else b"\0") * length for data, length in parts)
    memory = _Memory(start + len(content))
    written = write_sparse(memory, start, _filled(start, content), len(content))
    assert memory.data[start:] == content
    assert written == sum(length for _, length in memory.writes)
    for begin, length in memory.writes:
        for piece in range(-(-begin // HOLE), (begin + length) // HOLE):
            assert any(memory.data[piece * HOLE : (piece + 1) * HOLE])


@pytest.mark.parametrize("start", [0, 1, 512, ALIGNMENT, 5 * HOLE + 17])
@pytest.mark.parametrize("length", [1, 511, ALIGNMENT, ALIGNMENT + 1, 3 * ALIGNMENT - 5, HOLE])
def test_writes_at_any_place(tmp_path: Path, start: int, length: int) -> None:
    content = random.Random(start + length).randbytes(length)  # noqa: S311
    descriptor = os.open(tmp_path / "disk", os.O_RDWR | os.O_CREAT)
    target = FileTarget(descriptor)
    target.write(start, _filled(start, content).place(start, length))
    target.sync()
    assert os.pread(descriptor, length + 1, start) == content
    target.close()
    os.close(descriptor)


def test_holes_take_no_room(tmp_path: Path) -> None:
    content = bytes(HOLE) + b"x" * HOLE + bytes(30 * HOLE)
    descriptor = os.open(tmp_path / "disk", os.O_RDWR | os.O_CREAT)
    target = FileTarget(descriptor)
    assert write_sparse(target, 0, _filled(0, content), len(content)) == HOLE
    os.ftruncate(descriptor, target.finish(len(content)))
    assert (tmp_path / "disk").read_bytes() == content
    assert (tmp_path / "disk").stat().st_blocks * 512 <= 2 * HOLE
    target.close()
    os.close(descriptor)


def test_refuses_what_is_no_place_for_a_disk(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "nowhere").symlink_to("absent")
    os.mkfifo(tmp_path / "pipe")
    for name, why in [
        (".", "directory"),
        ("link", "symbolic link"),
        ("nowhere", "symbolic link"),
        ("pipe", "neither"),
        ("absent/disk", "no directory"),
        ("file/disk", "it cannot be looked at"),
    ]:
        with pytest.raises(ImageFault, match=why) as caught:
            is_device(tmp_path / name)
        assert caught.value.reason == "BadTarget"
    assert not is_device(tmp_path / "file")
    assert not is_device(tmp_path / "new")


@given(st.lists(st.integers(0, 5 * HOLE), min_size=1, max_size=6, unique=True))
@settings(max_examples=40, deadline=None)
def test_what_is_cleared_is_zeros_and_nothing_else(borders: list[int]) -> None:
    borders = [*sorted(borders), 1 << 62][-2 * ((len(borders) + 1) // 2) :]
    ranges = list(zip(borders[::2], borders[1::2], strict=True))
    descriptor = os.memfd_create("disk")
    os.write(descriptor, b"x" * (4 * HOLE + 7))
    target, memory = FileTarget(descriptor), _Memory(4 * HOLE + 7)
    memory.data[:] = b"x" * len(memory.data)
    target.clear(ranges)
    memory.clear((min(start, len(memory.data)), end) for start, end in ranges)
    assert os.pread(descriptor, 5 * HOLE, 0) == memory.data
    target.close()
    os.close(descriptor)


def test_what_is_cleared_of_a_qcow2_are_parts_of_its_clusters() -> None:
    memory = _Memory(5 * CLUSTER)
    target = Qcow2Target(memory)
    for cluster in (7, 3):
        target.write(cluster * CLUSTER, memoryview(b"x" * CLUSTER))
    target.clear([(0, 3 * CLUSTER + 10), (7 * CLUSTER + 20, 1 << 62)])
    assert memory.data[CLUSTER : 2 * CLUSTER] == (b"x" * 20).ljust(CLUSTER, b"\0")
    assert memory.data[2 * CLUSTER : 3 * CLUSTER] == (b"x" * (CLUSTER - 10)).rjust(CLUSTER, b"\0")


@pytest.mark.parametrize("able", [True, False])
@pytest.mark.parametrize("size", [3 << 20, (3 << 20) - 100, 1])
def test_room_for_holes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, able: bool, size: int) -> None:
    """Also where the filesystem gives none without zeros being written, as NFS before 4.2."""
    if not able:
        monkeypatch.setattr("ingot.images.pipeline.target.fallocate", lambda *_: False)
    path = tmp_path / "disk"
    content = bytearray(size)
    for start in (0, 1 << 20, size - 1):
        content[start : start + 1] = b"x" if start < size else b""
    with path.open("w+b") as file:
        for start in (0, 1 << 20, size - 1):
            if start < size:
                os.pwrite(file.fileno(), b"x", start)
        allocate(file.fileno(), size)
    assert path.read_bytes() == content
    assert path.stat().st_blocks * 512 >= size
