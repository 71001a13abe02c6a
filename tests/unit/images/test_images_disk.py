"""Images opened as the disks in them."""

import gzip
import subprocess
from pathlib import Path

import pytest
from qcow2_images import create, write

from ingot.images.content import FileContent, read
from ingot.images.disk import open_disk
from ingot.images.fault import ImageFault

MIB = 1 << 20


def test_a_raw_disk(tmp_path: Path) -> None:
    path = tmp_path / "disk"
    path.write_bytes(b"abc" * 1000)
    disk = open_disk(path)
    assert (disk.size, bytes(read(disk, 3, 3))) == (3000, b"abc")
    disk.close()


def test_a_qcow2_by_its_first_bytes(tmp_path: Path) -> None:
    path = write(create(tmp_path / "disk", MIB), "write -P 7 64k 64k")
    disk = open_disk(FileContent(path))
    assert disk.size == MIB
    assert read(disk, 65535, 2) == b"\0\7"
    disk.close()


def test_what_is_said_counts(tmp_path: Path) -> None:
    path = create(tmp_path / "disk", MIB)
    disk = open_disk(path, "raw")
    assert disk.size == path.stat().st_size
    disk.close()
    with pytest.raises(ImageFault, match="must be one of"):
        open_disk(path, "floppy")


def test_a_disk_that_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "disk"
    path.write_bytes(bytes(1025))
    with pytest.raises(ImageFault, match="at most 1024 fit") as caught:
        open_disk(path, limit=1024)
    assert caught.value.subject == str(path)
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", path, "2k"], check=True)
    with pytest.raises(ImageFault, match="at most 1024 fit"):
        open_disk(path, limit=1024)


def test_a_packed_disk_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "disk.gz"
    path.write_bytes(gzip.compress(b"disk"))
    with pytest.raises(ImageFault, match="vhdx, vhd: unpack it, or make a disk of it with `ingot image pull` first"):
        open_disk(path)
