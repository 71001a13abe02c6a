"""Images of other makers that were cut off: QEMU would read zeros behind their end."""

import hashlib
import os
import struct
import subprocess
from pathlib import Path

import pytest

from ingot.images.content import read
from ingot.images.disk import open_disk
from ingot.images.fault import ImageFault

MIB = 1 << 20
FORMATS = [
    ("vmdk", "subformat=monolithicSparse"),
    ("vmdk", "subformat=streamOptimized"),
    ("vdi", "static=off"),
    ("vhdx", "block_size=1M"),
    ("vhd", "force_size=on"),
]


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    path = tmp_path / "disk.raw"
    noise = hashlib.shake_256().digest(MIB)
    # Not a whole number of vmdk's grains, and the last of them has data.
    path.write_bytes(noise + bytes(3 * MIB) + noise[:512])
    return path


def convert(raw: Path, format: str, options: str) -> Path:
    path, driver = raw.with_suffix("." + format), "vpc" if format == "vhd" else format
    subprocess.run(
        ["qemu-img", "convert", "-f", "raw", "-O", driver, "-o", options, raw, path],
        check=True,
    )
    return path


def refused(path: Path, format: str) -> str:
    with pytest.raises(ImageFault) as caught:
        open_disk(path, format)
    assert caught.value.reason == "BadImage"
    return caught.value.message


@pytest.mark.parametrize(("format", "options"), FORMATS)
def test_an_image_that_was_cut_off(raw: Path, format: str, options: str) -> None:
    path = convert(raw, format, options)
    disk = open_disk(path, format)
    assert read(disk, 0, raw.stat().st_size) == raw.read_bytes()
    disk.close()
    whole = path.stat().st_size
    for size in (whole * 3 // 4, whole // 2, whole // 4):
        os.truncate(path, size)
        refused(path, format)


def test_a_vmdk_that_lacks_its_last_sector(raw: Path) -> None:
    path = convert(raw, "vmdk", "subformat=monolithicSparse")
    whole = path.stat().st_size
    os.truncate(path, whole - 512)
    assert f"it ends at byte {whole - 512}, and has data up to {whole}" in refused(path, "vmdk")


def test_a_vmdk_with_its_directory_at_its_end(raw: Path) -> None:
    path = convert(raw, "vmdk", "subformat=streamOptimized")
    data = path.read_bytes()
    data += bytes(-len(data) % 512)
    front = data[:56] + b"\xff" * 8 + data[64:]
    footer = struct.pack("<QII496x", 1, 0, 3) + data[:512] + bytes(512)
    path.write_bytes(front + footer)
    disk = open_disk(path)
    assert read(disk, 0, disk.size) == raw.read_bytes()
    disk.close()
    path.write_bytes(front[: len(front) // 2] + footer)
    assert "has data up to" in refused(path, "vmdk")


def test_a_vmdk_with_absurd_tables(raw: Path) -> None:
    path = convert(raw, "vmdk", "subformat=monolithicSparse")
    whole = path.read_bytes()
    for place, value in ((20, 0), (20, 1 << 40), (12, 1 << 60), (44, 0), (56, 1 << 50)):
        with path.open("r+b") as file:
            file.seek(place)
            file.write(struct.pack("<I" if place == 44 else "<Q", value))
        refused(path, "vmdk")
        path.write_bytes(whole)
