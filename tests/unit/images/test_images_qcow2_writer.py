"""The qcow2 files that Ingot makes, as QEMU checks and reads them."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from qcow2_images import by_qemu, by_reader, by_stream

from ingot.images.content import Content, FileContent, read
from ingot.images.fault import ImageFault
from ingot.images.qcow2.layout import CLUSTER, Layout
from ingot.images.qcow2.writer import Qcow2Image, allocated, nonzero

MIB = 1 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """A sparse disk with a cluster of written zeros, and an end within a cluster."""
    path = tmp_path / "disk.raw"
    with path.open("wb") as file:
        for place, data in ((0, b"boot"), (3 * MIB, bytes(CLUSTER)), (600 * MIB, b"far" * CLUSTER)):
            file.seek(place)
            file.write(data)
        file.truncate(600 * MIB + 3 * CLUSTER + 512)
    return path


def written(image: Content, path: Path, piece: int = MIB) -> Path:
    with path.open("wb") as file:
        for at in range(0, image.size, piece):
            file.write(read(image, at, min(piece, image.size - at)))
    return path


def checked(path: Path) -> None:
    subprocess.run(["qemu-img", "check", "-q", "-f", "qcow2", path], check=True, capture_output=True)


def test_qemu_reads_the_same_disk(disk: Path, tmp_path: Path) -> None:
    content = FileContent(disk)
    image = Qcow2Image(content, Layout(content.size, nonzero(content)))
    path = written(image, tmp_path / "image.qcow2")
    checked(path)
    assert len(image.layout.clusters) == 4
    assert path.stat().st_size == image.size == 10 * CLUSTER
    assert subprocess.run(["qemu-img", "compare", "-q", "-f", "qcow2", "-F", "raw", path, disk]).returncode == 0
    assert list(written(image, tmp_path / "odd", 12_345).read_bytes()) == list(path.read_bytes())
    image.close()


def test_without_a_layout_all_that_may_have_data_is_in_it(disk: Path) -> None:
    with FileContent(disk) as content:
        clusters = list(allocated(content))
        assert clusters == sorted(set(clusters))
        assert set(nonzero(content)) < set(clusters)
        assert Qcow2Image(content).layout.clusters.tolist() == clusters


def test_our_readers_read_it(tmp_path: Path) -> None:
    disk = tmp_path / "small.raw"
    disk.write_bytes(b"a" * 100 + bytes(3 * CLUSTER) + b"b" * 412)
    path = written(Qcow2Image(FileContent(disk)), tmp_path / "small.qcow2")
    assert by_reader(path) == by_stream(path) == by_qemu(path) == disk.read_bytes()


def test_a_disk_goes_on_to_the_end_of_its_sector(tmp_path: Path) -> None:
    disk = tmp_path / "odd.raw"
    disk.write_bytes(b"a" * 1000)
    path = written(Qcow2Image(FileContent(disk)), tmp_path / "odd.qcow2")
    checked(path)
    assert by_reader(path) == by_qemu(path) == b"a" * 1000 + bytes(24)


def test_extents_follow_the_disk(disk: Path) -> None:
    with FileContent(disk) as content:
        image = Qcow2Image(content, Layout(content.size, nonzero(content)))
        extents = list(image.extents(0, image.size))
        assert [extent.start for extent in extents[1:]] == [extent.end for extent in extents[:-1]]
        assert extents[0].length == image.layout.data_start
        assert [extent.stored for extent in extents[1:]] == [0, 600 * MIB]
        assert extents[-1].end == image.size


def test_progress_ends_with_all(disk: Path) -> None:
    told: list[tuple[int, int]] = []
    with FileContent(disk) as content:
        list(nonzero(content, lambda done, total: told.append((done, total))))
        assert told[-1] == (content.size, content.size)


def test_no_byte_behind_the_end(disk: Path) -> None:
    with FileContent(disk) as content:
        image = Qcow2Image(content)
        with pytest.raises(ImageFault, match="are wanted of"):
            image.readinto(image.size - 1, memoryview(bytearray(2)))


@given(st.integers(1, 1 << 44), st.sets(st.integers(0, (1 << 28) - 1), max_size=40))
def test_any_layout_names_each_cluster_once(size: int, clusters: set[int]) -> None:
    fitting = sorted(cluster for cluster in clusters if cluster * CLUSTER < size)
    layout = Layout(size, fitting)
    assert layout.data_start % CLUSTER == 0
    assert layout.file_size == layout.data_start + len(fitting) * CLUSTER
    positions = [layout.position(cluster) for cluster in fitting]
    assert positions == list(range(layout.data_start, layout.file_size, CLUSTER))
    assert layout.position(max(fitting, default=0) + 1) is None


def test_a_layout_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="0 bytes"):
        Layout(0, [])
    with pytest.raises(ValueError, match="cluster 1"):
        Layout(CLUSTER, [1])


def test_a_large_disk_has_refcounts_of_itself(tmp_path: Path) -> None:
    """More clusters than one refcount block counts."""
    disk = tmp_path / "large.raw"
    with disk.open("wb") as file:
        file.truncate(40_000 * CLUSTER)
    with FileContent(disk) as content:
        image = Qcow2Image(content, Layout(content.size, range(40_000)))
        path = tmp_path / "large.qcow2"
        with path.open("wb") as file:
            file.write(read(image, 0, image.layout.data_start))
            file.truncate(image.size)
    checked(path)
