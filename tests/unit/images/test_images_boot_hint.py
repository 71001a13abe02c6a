"""What an image says of its boot, and what others may have written there (X3)."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from images.linux_disks import SIZE, make_filesystem, make_tree, noise
from ingot.images.boot.hint import BOOT_ORDER, annotations, foretold
from ingot.images.boot.noted import NotedDisk, Unreadable
from ingot.images.boot.order import boot_order
from ingot.images.content import FileContent
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.qcow2.layout import CLUSTER, Layout
from ingot.images.registry.manifest import Descriptor
from ingot.images.zstd_chunked.pieces import Pieces

COUNT = 40


def file_of(clusters: int, zeros: int = -1) -> Pieces:
    pieces = Pieces()
    for number in range(clusters):
        if number == zeros:
            pieces.append_zeros(CLUSTER)
        else:
            pieces.append(CLUSTER, 100 * number, 100 * number + 100, bytes([number] * 32))
    return pieces


def read_back(text: str, pieces: Pieces) -> list[int]:
    layer = Descriptor(media_type="layer", digest=Digest.of(b""), size=0, annotations={BOOT_ORDER: text})
    return [chunk.start // 100 for chunk in foretold(layer, pieces)]


@given(st.lists(st.integers(0, COUNT - 1)))
def test_clusters_come_back_in_their_order_each_once(clusters: list[int]) -> None:
    told = annotations(clusters)
    assert bool(told) is bool(clusters)
    assert read_back(told.get(BOOT_ORDER, ""), file_of(COUNT)) == list(dict.fromkeys(clusters))


def test_neighbours_are_told_together() -> None:
    assert annotations([0, 3, 4, 5, 4, 9, 8]) == {BOOT_ORDER: "0,3+3,9,8"}


def test_zeros_and_what_the_file_does_not_have_are_left_out() -> None:
    assert read_back("2+3,7,39+999999999999,40,999999999999+2", file_of(COUNT, zeros=3)) == [2, 4, 7, 39]


def test_what_names_more_than_there_is_ends_there() -> None:
    assert read_back(",".join(["0+40"] * 9000), file_of(COUNT)) == list(range(COUNT))


def test_zeros_without_end_are_one_piece() -> None:
    """A table of contents may say that a file has a PiB of them, at no cost."""
    pieces = Pieces()
    pieces.append(CLUSTER, 0, 100, bytes(32))
    pieces.append_zeros(1 << 50)
    pieces.append(CLUSTER, 100, 200, bytes(32))
    assert read_back("0+999999999999", pieces) == [0, 1]
    assert read_back(f"1+17179869183,{(1 << 34) + 1}", pieces) == [1]


@pytest.mark.parametrize("text", ["x", "1,", "-1", "1+", "1++2", " 1", "1\n", "٣", "1" * 13, "1," * 40000 + "1"])
def test_what_is_no_order_is_refused_by_its_name(text: str) -> None:
    with pytest.raises(ImageFault, match=BOOT_ORDER):
        read_back(text, file_of(COUNT))


def test_of_a_long_order_the_beginning_is_kept() -> None:
    told = annotations(range(0, 200_000, 2))[BOOT_ORDER]
    assert len(told) <= 64 << 10
    assert read_back(told, file_of(COUNT)) == list(range(0, COUNT, 2))


def test_tables_come_before_what_they_lead_to() -> None:
    layout = Layout(1 << 40, [5, 9, 8192 + 3])
    # The file has its header, two clusters of reference counts, the first table, two others, and three of data.
    assert list(layout.read_for([9, 6, 8195])) == [0, 3, 4, 7, 5, 8]


def test_a_disk_that_is_damaged_foretells_something_or_nothing(tmp_path: Path) -> None:
    """No damage is told to whoever pushes: the disk is none the worse for it."""
    files = {"boot/vmlinuz-6": noise("kernel"), "sbin/init": b"#!/bin/sh\n", "etc/passwd": b"root"}
    disk = make_filesystem(tmp_path / "disk.raw", make_tree(tmp_path / "root", files))
    with disk.open("r+b", buffering=0) as file, FileContent(disk) as content:
        for start in range(0, 1 << 17, 1024):
            whole = os.pread(file.fileno(), 1024, start)
            os.pwrite(file.fileno(), os.urandom(1024), start)
            assert all(0 <= cluster < SIZE // CLUSTER for cluster in boot_order(content))
            os.pwrite(file.fileno(), whole, start)
        assert boot_order(content)


def read_bytes(noted: NotedDisk, times: int) -> None:
    for _ in range(times):
        noted.read(0, 1)


def test_what_would_be_read_for_ever_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "disk.raw"
    path.write_bytes(bytes(CLUSTER))
    with FileContent(path) as content:
        noted = NotedDisk(content)
        with pytest.raises(Unreadable, match="more is to be read"):
            read_bytes(noted, 1 << 20)
        noted = NotedDisk(content)
        with pytest.raises(Unreadable, match="more is to be read"):
            noted.charge(1 << 40)
        noted = NotedDisk(content)
        with pytest.raises(Unreadable, match="more is to be read"):
            noted.charge(0, steps=1 << 20)
        with pytest.raises(Unreadable, match="more is to be read"):
            noted.note(0, 1)
        noted = NotedDisk(content)
        with pytest.raises(Unreadable, match="of a disk of 65536"):
            noted.read(CLUSTER - 1, 2)
