"""Snapshots where files cannot share blocks: compressed, and the same bytes when they come back."""

import asyncio
import errno
import json
import os
import subprocess
from pathlib import Path
from threading import Event

import pytest

from ingot.host.clone import Cancelled, Progress
from ingot.host.command import CommandFailed
from ingot.standalone.volumes import packing
from ingot.standalone.volumes.local import LocalVolumes
from ingot.standalone.volumes.records import Record

MEGABYTE = 1 << 20
# A header of qcow2, in a raw disk: what a guest writes is never taken for a format.
TRAP = b"QFI\xfb\x00\x00\x00\x03" + bytes(504)


def a_disk(path: Path) -> bytes:
    """Text, noise and a hole."""
    content = TRAP + b"words " * (MEGABYTE // 6) + os.urandom(65536)
    with path.open("wb") as file:
        file.write(content[: len(content) // 512 * 512])
        file.truncate(8 * MEGABYTE)
    path.chmod(0o640)
    return path.read_bytes()


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalVolumes:
    """Volumes on a filesystem that shares no blocks, whatever the one of the tests does."""
    monkeypatch.setattr(LocalVolumes, "shares_blocks", False)
    monkeypatch.setattr("ingot.host.clone.share_blocks", lambda *_: False)
    made = LocalVolumes(tmp_path / "volumes")
    made.prepare()
    made.snapshots().prepare()
    return made


def volume(local: LocalVolumes, name: str) -> Path:
    local.fill(Record(name, "cl", "ns", "c", name, block=False), MEGABYTE, None, Progress())
    local.publish(name)
    return local.directory / name


def taken(local: LocalVolumes, name: str, progress: Progress | None = None) -> Path:
    """The snapshot of a volume."""
    record = Record("s", "cl", "ns", "s", "u", block=False, size=MEGABYTE, taken=1, packed=local.packable(name, False))
    files = local.snapshots()
    files.fill(record, 0, local.directory / name, progress or Progress())
    files.publish("s")
    return files.directory / "s"


def restored(local: LocalVolumes, snapshot: Path) -> Path:
    local.fill(Record("new", "cl", "ns", "d", "n", block=False), MEGABYTE, snapshot, Progress())
    local.publish("new")
    return local.directory / "new"


def test_a_disk_is_packed_and_comes_back(local: LocalVolumes) -> None:
    original = volume(local, "v")
    content = a_disk(original / "disk.img")
    (original / "notes").write_text("beside it")
    progress = Progress()
    snapshot = taken(local, "v", progress)
    known = subprocess.run(
        ["qemu-img", "info", "--output", "json", snapshot / "disk.img"], check=True, capture_output=True
    ).stdout
    assert json.loads(known)["format"] == "qcow2"
    assert (snapshot / "disk.img").stat().st_size < MEGABYTE
    assert (snapshot / "notes").read_text() == "beside it"
    assert 0 < progress.done <= progress.total
    (original / "disk.img").write_bytes(b"later")
    back = restored(local, snapshot)
    assert (back / "disk.img").read_bytes() == content
    assert (back / "disk.img").stat().st_mode & 0o777 == 0o640
    assert (back / "disk.img").stat().st_blocks * 512 < 2 * MEGABYTE
    assert (back / "notes").read_text() == "beside it"


@pytest.mark.parametrize("content", [b"", b"six by"])
def test_what_is_no_disk_is_copied_as_it_is(local: LocalVolumes, content: bytes) -> None:
    (volume(local, "v") / "disk.img").write_bytes(content)
    assert local.packable("v", block=False) == ""
    snapshot = taken(local, "v")
    assert (snapshot / "disk.img").read_bytes() == content
    assert (restored(local, snapshot) / "disk.img").read_bytes() == content


def test_a_volume_without_a_disk_and_one_that_shares_blocks_are_copied(
    local: LocalVolumes, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = volume(local, "v")
    assert local.packable("v", block=False) == ""
    a_disk(original / "disk.img")
    monkeypatch.setattr(LocalVolumes, "shares_blocks", True)
    assert local.packable("v", block=False) == ""


def test_a_link_is_not_followed(local: LocalVolumes, tmp_path: Path) -> None:
    original = volume(local, "v")
    (tmp_path / "secret").write_bytes(bytes(4096))
    (original / "disk.img").symlink_to(tmp_path / "secret")
    assert local.packable("v", block=False) == ""
    with pytest.raises(OSError, match="symbolic links"):
        packing.pack(original / "disk.img", tmp_path / "packed", Progress())


def test_one_that_is_called_off_ends_soon(local: LocalVolumes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = volume(local, "v") / "disk.img"
    a_disk(disk)
    progress, ended = Progress(), Event()

    async def endless(*_: object) -> None:
        progress.cancelled.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    monkeypatch.setattr(packing, "convert", endless)
    with pytest.raises(Cancelled):
        packing.pack(disk, tmp_path / "packed", progress)
    assert ended.is_set()


def test_one_that_fails_takes_no_room(local: LocalVolumes, monkeypatch: pytest.MonkeyPatch) -> None:
    a_disk(volume(local, "v") / "disk.img")

    def full(_source: Path, target: Path, _progress: Progress) -> None:
        target.write_bytes(bytes(MEGABYTE))
        raise OSError(errno.ENOSPC, "no room", str(target))

    monkeypatch.setattr(packing, "pack", full)
    with pytest.raises(OSError, match="no room"):
        taken(local, "v")
    assert [path.name for path in local.snapshots().directory.iterdir()] == [".records"]


def test_what_qemu_says_is_told_with_the_file(local: LocalVolumes, tmp_path: Path) -> None:
    disk = volume(local, "v") / "disk.img"
    a_disk(disk)
    with pytest.raises(OSError, match=r"disk\.img"):
        packing.pack(disk, tmp_path / "not there" / "packed", Progress())
    with pytest.raises(OSError, match=r"qemu-img: Could not open 'disk\.img'"):
        packing.unpack(disk, tmp_path / "raw", Progress())


def opened() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "qemu-img: error while writing at byte 5: No space left on device\nqemu-img: and at byte 9",
            "No space left on",
        ),
        ("qemu-img: error while writing at byte 7: Disk quota exceeded", "Disk quota exceeded"),
        ("", "qemu-img: exit -9"),
    ],
)
def test_the_same_fault_is_told_in_the_same_words(
    local: LocalVolumes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, told: str
) -> None:
    """Other words each time would be news each time, and what failed would be tried again at once."""
    disk = volume(local, "v") / "disk.img"
    a_disk(disk)

    async def failing(*_: object) -> None:
        raise CommandFailed("qemu-img", -9, said)

    monkeypatch.setattr(packing, "convert", failing)
    before = opened()
    with pytest.raises(OSError, match=told) as caught:
        packing.pack(disk, tmp_path / "packed", Progress())
    assert "byte" not in str(caught.value)
    assert opened() == before
