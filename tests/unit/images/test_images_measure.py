"""How large the disk of a source is, without a place for it."""

import gzip
import io
import json
import os
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from ingot.images.fault import ImageFault
from ingot.images.pipeline.measure import Measured, measure
from ingot.images.pipeline.options import ImportOptions
from ingot.images.pipeline.source import Kind, Source

SIZE = 3 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    path = tmp_path / "disk.raw"
    path.write_bytes(os.urandom(1 << 20) + bytes(SIZE - (1 << 20)))
    return path


def _measure(path: Path, **options: Any) -> Measured:
    return measure(Source(Kind.FILE, str(path)), ImportOptions(**options), lambda *_: None)


@pytest.mark.parametrize("format", ["raw", "qcow2", "vmdk", "vdi", "vhdx"])
@pytest.mark.parametrize("packed", [False, True])
def test_every_format(tmp_path: Path, disk: Path, format: str, packed: bool) -> None:
    image = tmp_path / f"disk.{format}"
    if format != "raw":
        subprocess.run(["qemu-img", "convert", "-O", format, disk, image], check=True)
    if packed:
        image.write_bytes(gzip.compress(image.read_bytes(), 1))
    found = _measure(image)
    assert (found.size, found.format) == (SIZE, format)


def test_a_disk_in_an_archive(tmp_path: Path, disk: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.add(disk, "disk.raw")
    (tmp_path / "disk.tar").write_bytes(buffer.getvalue())
    assert _measure(tmp_path / "disk.tar").size == SIZE


@pytest.mark.parametrize("packed", [False, True])
def test_a_disk_that_is_too_large(tmp_path: Path, disk: Path, packed: bool) -> None:
    if packed:
        disk.write_bytes(gzip.compress(disk.read_bytes()))
    with pytest.raises(ImageFault) as caught:
        _measure(disk, limit=SIZE - 1)
    assert caught.value.reason == "TooLarge"


def test_what_the_header_tells_is_enough(tmp_path: Path, disk: Path) -> None:
    """Of a qcow2 in gzip only the beginning is read."""
    image = tmp_path / "disk.qcow2"
    subprocess.run(["qemu-img", "convert", "-O", "qcow2", disk, image], check=True)
    (tmp_path / "cut.gz").write_bytes(gzip.compress(image.read_bytes(), 1)[:300_000])
    assert _measure(tmp_path / "cut.gz").size == SIZE


@pytest.mark.parametrize("format", ["vmdk", "vdi", "vhdx", "vhd"])
def test_of_what_only_qemu_knows_the_front_is_enough(tmp_path: Path, format: str) -> None:
    """However much follows: nothing is put aside."""
    disk, image = tmp_path / "disk.raw", tmp_path / f"disk.{format}"
    disk.write_bytes(os.urandom(16 << 20))
    subprocess.run(["qemu-img", "convert", "-O", {"vhd": "vpc"}.get(format, format), disk, image], check=True)
    (tmp_path / "cut.gz").write_bytes(gzip.compress(image.read_bytes(), 1)[: 10 << 20])
    shown = subprocess.run(["qemu-img", "info", "--output=json", image], check=True, capture_output=True).stdout
    before = set(tmp_path.iterdir())
    found = _measure(tmp_path / "cut.gz")
    assert (found.size, found.format) == (json.loads(shown)["virtual-size"], format)
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize("head", [b"KDMV" + bytes(508), b"# Disk DescriptorFile", b"vhdxfile" + bytes(9 << 20)])
def test_an_image_whose_front_does_not_tell_is_not_read_on(tmp_path: Path, head: bytes) -> None:
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(head + os.urandom(8 << 20), 1)[: 4 << 20])
    with pytest.raises(ImageFault) as caught:
        _measure(path)
    assert caught.value.reason == "SizeNotKnown"
    assert "say how large the volume is to be" in caught.value.message


def test_a_blank_disk() -> None:
    found = measure(Source(Kind.BLANK, str(SIZE)), ImportOptions(), lambda *_: None)
    assert found == Measured(SIZE, "raw", f"blank:{SIZE}")
