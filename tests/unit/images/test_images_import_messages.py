"""What imports tell people who asked for something that cannot be."""

import gzip
import hashlib
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ingot.cli.image.pull import summary
from ingot.images.fault import ImageFault
from ingot.images.pipeline.importer import import_image
from ingot.images.pipeline.options import Imported, ImportOptions
from ingot.images.pipeline.source import Source

SIZE = 4 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    path = tmp_path / "disk.raw"
    path.write_bytes((hashlib.shake_256().digest(1 << 10) * 1024).ljust(SIZE, b"\0"))
    return path


def _import(source: Path, target: Path, **options: Any) -> Imported:
    return import_image(Source.parse(str(source)), target, ImportOptions(**options), lambda done, whole: None)


def converted(disk: Path, *options: str) -> Path:
    path = disk.with_suffix(".qcow2")
    subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", "qcow2", *options, disk, path], check=True)
    return path


def packed(path: Path) -> Path:
    made = path.with_suffix(".gz")
    made.write_bytes(gzip.compress(path.read_bytes(), 1))
    return made


def test_a_file_that_is_there(tmp_path: Path, disk: Path) -> None:
    with pytest.raises(ImageFault, match="use --force to replace it"):
        _import(disk, disk)


@pytest.mark.parametrize("form", ["raw", "gz"])
def test_an_empty_file_is_no_disk_and_replaces_none(tmp_path: Path, disk: Path, form: str) -> None:
    (tmp_path / "empty").touch()
    source = packed(tmp_path / "empty") if form == "gz" else tmp_path / "empty"
    before = disk.read_bytes()
    with pytest.raises(ImageFault, match="no bytes, so it is no disk") as caught:
        _import(source, disk, replace=True, size=SIZE)
    assert (caught.value.reason, disk.read_bytes()) == ("Empty", before)
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("form", ["raw", "qcow2", "gz", "qcow2.gz"])
def test_a_size_below_that_of_the_disk(tmp_path: Path, disk: Path, form: str) -> None:
    source = converted(disk) if form.startswith("qcow2") else disk
    source = packed(source) if form.endswith("gz") else source
    with pytest.raises(ImageFault, match="--size only grows a disk") as caught:
        _import(source, tmp_path / "out", size=1_000_000)
    assert "1000000" in caught.value.message
    # Where another bound is lower, that one is what matters.
    with pytest.raises(ImageFault) as caught:
        _import(source, tmp_path / "out", size=1_000_000, limit=500_000)
    assert "--size" not in caught.value.message


def test_an_import_that_begins_anew_says_so(tmp_path: Path, disk: Path) -> None:
    source, out = tmp_path / "disk.zst", tmp_path / "out"
    subprocess.run(["zstd", "-q", disk, "-o", source], check=True)
    # What a killed import of one frame leaves: bytes, and no place to go on at.
    (tmp_path / ".out.ingot-part").write_bytes(bytes(1 << 20))
    imported = _import(source, out)
    assert (imported.anew, imported.resumed_from) == (True, 0)
    assert "begun anew, as an interrupted import had left nothing to go on from" in summary(imported, out)
    imported = _import(source, out, replace=True)
    assert not imported.anew
    assert "begun anew" not in summary(imported, out)


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_larger_than_a_file_may_be(tmp_path: Path, disk: Path) -> None:
    with largest_file(2 << 20), pytest.raises(ImageFault, match=f"a file as large as the disk of {SIZE} bytes"):
        _import(converted(disk), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_size_larger_than_a_file_may_be_is_told_before_anything_is_read(tmp_path: Path, disk: Path) -> None:
    source, told = Source.parse(str(packed(disk))), list[int]()
    with largest_file(8 << 20), pytest.raises(ImageFault, match="as large as the disk of 16777216 bytes") as caught:
        import_image(source, tmp_path / "out", ImportOptions(size=16 << 20), lambda done, whole: told.append(done))
    assert "--size only grows" not in caught.value.message
    assert not any(told)
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == []


def test_a_size_that_no_disk_has(tmp_path: Path, disk: Path) -> None:
    with pytest.raises(ImageFault, match="none may have more than"):
        _import(disk, tmp_path / "out", size=10**23)


def test_what_is_fetched_of_a_compressed_qcow2_is_what_the_file_has(tmp_path: Path, disk: Path) -> None:
    image = converted(disk, "-c")
    imported = _import(image, tmp_path / "out")
    assert 0 < imported.fetched <= image.stat().st_size < 1 << 20
    assert (tmp_path / "out").read_bytes() == disk.read_bytes()
