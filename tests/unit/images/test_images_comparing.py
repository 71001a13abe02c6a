"""A disk of this machine beside one in a stream."""

import gzip
import hashlib
import subprocess
from pathlib import Path

import pytest

from ingot.images.blob import FileBlob
from ingot.images.content import FileContent
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.pipeline.comparing import difference_of_stream
from ingot.images.stream import open_stream

KIB = 1 << 10
SIZE = 4096 * KIB


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """Data, a hole, and data that are no whole cluster of a qcow2."""
    path = tmp_path / "disk.raw"
    noise = hashlib.shake_256().digest(512 * KIB)
    path.write_bytes((noise + bytes(2048 * KIB) + noise[: 100 * KIB]).ljust(SIZE, b"\0"))
    return path


def image(disk: Path, format: str) -> Path:
    path = disk.with_suffix(f".{format}.gz")
    made = disk
    if format != "raw":
        made = disk.with_suffix(f".{format}")
        subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", format, disk, made], check=True)
    path.write_bytes(gzip.compress(made.read_bytes(), 1))
    return path


def difference(local: Path, path: Path) -> int | None:
    digest = Digest.of(path.read_bytes())
    with FileContent(local) as content, FileBlob(path) as blob, open_stream(blob, digest=digest) as stream:
        return difference_of_stream(content, stream, lambda done, whole: None)


@pytest.mark.parametrize("format", ["raw", "qcow2", "vmdk"])
@pytest.mark.parametrize("place", [0, 511 * KIB + 7, 512 * KIB, 1300 * KIB + 5, 2600 * KIB, SIZE - 1])
def test_one_byte(disk: Path, format: str, place: int) -> None:
    path = image(disk, format)
    assert difference(disk, path) is None
    data = bytearray(disk.read_bytes())
    for at in (place, SIZE - 1):
        data[at] ^= 1
    data[place] = disk.read_bytes()[place] ^ 1
    disk.write_bytes(data)
    assert difference(disk, path) == place


@pytest.mark.parametrize("format", ["raw", "qcow2"])
def test_other_sizes(disk: Path, format: str) -> None:
    path = image(disk, format)
    whole = disk.read_bytes()
    disk.write_bytes(whole + bytes(512))
    assert difference(disk, path) == SIZE
    disk.write_bytes(whole[: 300 * KIB])
    assert difference(disk, path) == 300 * KIB


def test_a_stream_that_is_cut_off_is_not_compared_as_far_as_it_goes(disk: Path) -> None:
    path = image(disk, "raw")
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ImageFault):
        difference(disk, path)
