"""Updates: what this machine has of an image is not fetched again, and what it has wrong does no harm."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from images.test_image_push import push
from ingot.images.cache import Cache
from ingot.images.container_disk import open_container_disk
from ingot.images.pipeline.importer import import_image
from ingot.images.pipeline.options import Imported, ImportOptions
from ingot.images.pipeline.source import Source
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.settings import Settings
from ingot.images.zstd_chunked.remote import RemoteChunks

SIZE = 8 << 20
CHANGED = 256 << 10


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    path = tmp_path / "cache"
    path.mkdir()
    return path


@pytest.fixture
def versions(tmp_path: Path, registry: Registry, repository: Callable[[], Reference]) -> list[tuple[str, Path]]:
    """Two disks of noise that differ in a few places, pushed."""
    disks = [tmp_path / "first.raw", tmp_path / "second.raw"]
    content = bytearray(os.urandom(SIZE))
    disks[0].write_bytes(content)
    content[3 << 20 : (3 << 20) + CHANGED] = os.urandom(CHANGED)
    disks[1].write_bytes(content)
    made = []
    for disk in disks:
        reference = repository()
        push(registry, disk, reference)
        made.append((str(reference), disk))
    return made


def _import(source: str, target: Path, cache: Path, **options: Any) -> Imported:
    chosen = ImportOptions(settings=Settings(), cache=cache, **options)
    return import_image(Source.parse(source), target, chosen, lambda *_: None)


@pytest.mark.parametrize("form", ["raw", "qcow2"])
def test_an_update_fetches_what_is_new(
    tmp_path: Path, cache: Path, versions: list[tuple[str, Path]], form: str
) -> None:
    (first, _), (second, disk) = versions
    assert _import(first, tmp_path / "one", cache).local == 0
    imported = _import(second, tmp_path / "two", cache, format=form)
    assert imported.fetched < 2 * CHANGED
    assert imported.local >= SIZE - 2 * CHANGED
    if form == "raw":
        assert (tmp_path / "two").read_bytes() == disk.read_bytes()


def test_a_disk_that_was_imported_as_qcow2_gives_its_chunks(
    tmp_path: Path, cache: Path, versions: list[tuple[str, Path]]
) -> None:
    (first, _), (second, disk) = versions
    _import(first, tmp_path / "one.qcow2", cache, format="qcow2", size=2 * SIZE)
    assert _import(second, tmp_path / "two", cache).fetched < 2 * CHANGED
    assert (tmp_path / "two").read_bytes() == disk.read_bytes()


def test_a_disk_on_a_device_gives_its_chunks(tmp_path: Path, cache: Path, versions: list[tuple[str, Path]]) -> None:
    if os.geteuid() != 0 or shutil.which("losetup") is None:
        pytest.skip("loop devices need root, and losetup of mount")
    (first, _), (second, disk) = versions
    with (tmp_path / "backing").open("wb") as file:
        file.truncate(SIZE)
    made = subprocess.run(["losetup", "-f", "--show", file.name], check=True, capture_output=True, text=True)
    device = Path(made.stdout.strip())
    try:
        _import(first, device, cache, state=tmp_path / "state")
        assert _import(second, tmp_path / "two", cache).fetched < 2 * CHANGED
        assert (tmp_path / "two").read_bytes() == disk.read_bytes()
        # Its own chunks are gone when it is written anew.
        _import(second, device, cache, state=tmp_path / "state", replace=True)
        assert device.read_bytes() == disk.read_bytes()
    finally:
        subprocess.run(["losetup", "-d", device], check=True)


def test_the_file_that_is_replaced_gives_its_chunks(
    tmp_path: Path, cache: Path, versions: list[tuple[str, Path]]
) -> None:
    (first, _), (second, disk) = versions
    _import(first, tmp_path / "one", cache)
    assert _import(second, tmp_path / "one", cache, replace=True).fetched < 2 * CHANGED
    assert (tmp_path / "one").read_bytes() == disk.read_bytes()


def test_a_disk_that_was_written_to_gives_what_is_still_right(
    tmp_path: Path, cache: Path, versions: list[tuple[str, Path]]
) -> None:
    (first, disk), _ = versions
    _import(first, tmp_path / "one", cache)
    with (tmp_path / "one").open("r+b") as file:
        file.seek(1 << 20)
        file.write(os.urandom(1 << 20))
    imported = _import(first, tmp_path / "two", cache)
    assert 1 << 20 <= imported.fetched < 2 << 20
    assert (tmp_path / "two").read_bytes() == disk.read_bytes()


def test_a_disk_that_is_gone_gives_nothing_but_tables(
    tmp_path: Path, cache: Path, versions: list[tuple[str, Path]]
) -> None:
    (first, disk), _ = versions
    _import(first, tmp_path / "one", cache)
    (tmp_path / "one").unlink()
    # The tables of the image are in no disk, and stay in the cache.
    assert _import(first, tmp_path / "two", cache).local < 1 << 20
    assert (tmp_path / "two").read_bytes() == disk.read_bytes()


def test_chunks_of_the_cache_are_not_fetched(
    tmp_path: Path, cache: Path, versions: list[tuple[str, Path]], registry: Registry
) -> None:
    (first, disk), _ = versions
    found = open_container_disk(registry, registry.resolve(Reference.parse(first)))
    assert found.pieces is not None
    chunks = list(found.pieces.chunks())[10:50]
    kept = Cache(cache)
    for chunk, data in zip(chunks, RemoteChunks(found.blob).fetch(chunks), strict=True):
        kept.put(chunk.digest, data)
    imported = _import(first, tmp_path / "one", cache)
    assert imported.local == sum(chunk.size for chunk in chunks)
    assert (tmp_path / "one").read_bytes() == disk.read_bytes()


def _changed(disk: Path) -> None:
    with disk.open("r+b") as file:
        file.seek(1 << 20)
        file.write(os.urandom(1 << 20))


def _cut_short(disk: Path) -> None:
    os.truncate(disk, 7 << 20)


def _linked(disk: Path) -> None:
    """To what would give all chunks, were it followed."""
    disk.symlink_to(disk.rename(disk.with_name("elsewhere")))


def _replaced_by_pipe(disk: Path) -> None:
    disk.unlink()
    os.mkfifo(disk)


@pytest.mark.parametrize(
    ("harm", "least", "most"),
    [
        (lambda _: None, CHANGED, 2 * CHANGED),
        (_changed, CHANGED + (1 << 20), 2 * CHANGED + (1 << 20)),
        (_cut_short, CHANGED + (1 << 20), 2 * CHANGED + (1 << 20)),
        (_linked, SIZE, 2 * SIZE),
        (_replaced_by_pipe, SIZE, 2 * SIZE),
        (Path.unlink, SIZE, 2 * SIZE),
    ],
)
def test_the_disk_of_the_version_before_gives_what_is_still_right(
    tmp_path: Path, versions: list[tuple[str, Path]], harm: Callable[[Path], object], least: int, most: int
) -> None:
    """X4: without a cache, and without a table of what it was; and whatever was put in its place."""
    (_, previous), (second, disk) = versions
    harm(previous)
    options = ImportOptions(settings=Settings(), previous=previous)
    imported = import_image(Source.parse(second), tmp_path / "two", options, lambda *_: None)
    assert least <= imported.fetched < most
    assert imported.local == max(0, SIZE - (least if least < SIZE else SIZE))
    assert (tmp_path / "two").read_bytes() == disk.read_bytes()


def test_what_was_moved_on_the_disk_is_found(
    tmp_path: Path, registry: Registry, repository: Callable[[], Reference]
) -> None:
    """X4: as in a version that was built anew, with something more in its middle."""
    grown, other = os.urandom(CHANGED + 3 * 4096), bytearray(os.urandom(SIZE))
    previous, disk, reference = tmp_path / "previous", tmp_path / "disk", repository()
    previous.write_bytes(other)
    disk.write_bytes(other[: 2 << 20] + grown + other[2 << 20 :])
    push(registry, disk, reference)
    options = ImportOptions(settings=Settings(), previous=previous)
    imported = import_image(Source.parse(str(reference)), tmp_path / "made", options, lambda *_: None)
    assert (tmp_path / "made").read_bytes() == disk.read_bytes()
    # Each of four threads fetches a few chunks before it knows.
    assert imported.fetched < CHANGED + (2 << 20)
    assert imported.local > SIZE - (2 << 20)


@pytest.fixture
def volume(tmp_path: Path) -> Iterator[Path]:
    """One on which files can share blocks."""
    if os.geteuid() != 0 or shutil.which("mkfs.xfs") is None:
        pytest.skip("a volume with shared blocks needs root, and mkfs.xfs of xfsprogs")
    image, place = tmp_path / "xfs", tmp_path / "volume"
    place.mkdir()
    with image.open("wb") as file:
        file.truncate(512 << 20)
    subprocess.run(["mkfs.xfs", "-q", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, place], check=True)
    yield place
    subprocess.run(["umount", place], check=True)


def test_disks_share_what_is_the_same(volume: Path, cache: Path, versions: list[tuple[str, Path]]) -> None:
    (first, _), (second, disk) = versions
    _import(first, volume / "one", cache)
    free = os.statvfs(volume).f_bfree * os.statvfs(volume).f_bsize
    _import(second, volume / "two", cache)
    assert (volume / "two").read_bytes() == disk.read_bytes()
    assert free - os.statvfs(volume).f_bfree * os.statvfs(volume).f_bsize < SIZE // 4
    with (volume / "two").open("r+b") as file:
        file.write(b"written by a guest")
    again = _import(first, volume / "three", cache)
    assert again.fetched < 1 << 16
    assert (volume / "one").read_bytes() == (volume / "three").read_bytes()


@pytest.mark.parametrize("preallocate", [False, True])
def test_a_disk_shares_what_is_the_same_with_the_version_before(
    volume: Path, versions: list[tuple[str, Path]], preallocate: bool
) -> None:
    """Unless it is to have room of its own."""
    (_, previous), (second, disk) = versions
    shutil.copy(previous, volume / "one")
    os.sync()
    free = os.statvfs(volume).f_bfree * os.statvfs(volume).f_bsize
    options = ImportOptions(settings=Settings(), previous=volume / "one", preallocate=preallocate)
    import_image(Source.parse(second), volume / "two", options, lambda *_: None)
    assert (volume / "two").read_bytes() == disk.read_bytes()
    taken = free - os.statvfs(volume).f_bfree * os.statvfs(volume).f_bsize
    assert (taken >= SIZE) is preallocate
    assert preallocate or taken < SIZE // 4
