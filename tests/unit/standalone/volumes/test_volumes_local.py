"""Volumes in a directory: whole or not there, copies with their holes, devices where root runs the tests."""

import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ingot.host import clone
from ingot.host.clone import Cancelled, Progress, clone_file, clone_tree
from ingot.standalone.volumes import loop
from ingot.standalone.volumes.local import LocalVolumes
from ingot.standalone.volumes.records import Record

MEGABYTE = 1 << 20
needs_loop = pytest.mark.skipif(
    os.geteuid() != 0 or not loop.CONTROL.exists(), reason="loop devices need root and /dev/loop-control"
)


@pytest.fixture
def local(tmp_path: Path) -> LocalVolumes:
    local = LocalVolumes(tmp_path / "volumes")
    local.prepare()
    return local


def record(name: str, block: bool = False) -> Record:
    return Record(name=name, cluster="cl", namespace="ns", claim="c", claim_uid=f"uid-{name}", block=block)


def make(local: LocalVolumes, name: str, source: str = "", block: bool = False, size: int = MEGABYTE) -> Path:
    local.fill(record(name, block), size, local.directory / source if source else None, Progress())
    local.publish(name)
    if block:
        local.attach(name)
    return local.path(name, block)


def sparse(path: Path) -> bytes:
    """A file of 16 MiB with data at both ends."""
    with path.open("wb") as file:
        file.write(b"head" * 1024)
        file.seek(16 * MEGABYTE - 4096)
        file.write(b"tail" * 1024)
    return path.read_bytes()


def test_a_volume_is_an_empty_directory_that_others_may_pass(local: LocalVolumes) -> None:
    path = make(local, "v")
    assert list(path.iterdir()) == []
    assert stat.S_IMODE(path.stat().st_mode) == 0o711
    assert stat.S_IMODE(local.directory.stat().st_mode) == 0o711
    assert local.record("v") == record("v")
    assert local.names() == ["v"]


def test_a_directory_in_which_nothing_was_made_has_no_volumes(tmp_path: Path) -> None:
    local = LocalVolumes(tmp_path / "absent")
    assert local.names() == []
    local.detach_all()


def test_nothing_is_seen_before_it_is_published(local: LocalVolumes) -> None:
    local.fill(record("v"), 1, None, Progress())
    assert not local.has("v")
    local.fill(record("v"), 1, None, Progress())
    local.publish("v")
    assert local.has("v")


def test_a_volume_goes_with_what_was_left_of_it(local: LocalVolumes) -> None:
    (make(local, "v") / "disk.img").write_bytes(b"x")
    (local.directory / ".deleting-v" / "deep").mkdir(parents=True)
    (local.directory / ".making-v").mkdir()
    other = make(local, "w")
    local.remove("v", block=False)
    local.remove("v", block=False)
    assert [path.name for path in local.directory.iterdir() if "v" in path.name] == []
    assert other.is_dir()
    assert local.record("v") is not None
    local.forget("v")
    assert local.names() == ["w"]


def test_what_a_killed_process_was_writing_is_cleared(local: LocalVolumes) -> None:
    make(local, "v")
    (local.directory / ".records" / ".v.1a2b3c4d").write_bytes(b"{")
    (local.directory / ".share-one").write_bytes(b"")
    local.prepare()
    assert sorted(path.name for path in local.directory.rglob("*")) == [".records", "v", "v"]


def test_a_retained_volume_is_known_as_such(local: LocalVolumes) -> None:
    make(local, "v")
    local.retain("v")
    kept = local.record("v")
    assert kept is not None
    assert kept.retained


def test_a_volume_that_was_given_away_is_another_claims(local: LocalVolumes) -> None:
    make(local, "v")
    local.hand_over("v", cluster="cl", namespace="other", claim="d", claim_uid="u")
    given = local.record("v")
    assert given == Record("v", "cl", "other", "d", "u", block=False)
    local.hand_over("w", cluster="cl", namespace="other", claim="d", claim_uid="u")
    assert local.names() == ["v"]


def test_a_record_of_an_older_ingot_is_read(local: LocalVolumes) -> None:
    (local.directory / ".records" / "v").write_text(
        '{"name":"v","cluster":"cl","namespace":"ns","claim":"c","claim_uid":"uid-v","block":false,"retained":true}'
    )
    assert local.record("v") == Record("v", "cl", "ns", "c", "uid-v", block=False, retained=True)


def test_snapshots_lie_beside_the_volumes_and_nobody_else_may_enter(local: LocalVolumes) -> None:
    original = make(local, "v")
    content = sparse(original / "disk.img")
    files = local.snapshots()
    files.prepare()
    taken = Record("s", "cl", "ns", "snap", "u", block=False, size=MEGABYTE, taken=5)
    files.fill(taken, 0, original, Progress())
    assert not files.has("s")
    files.publish("s")
    assert stat.S_IMODE(files.directory.stat().st_mode) == 0o700
    assert files.directory.is_relative_to(local.directory)
    assert files.record("s") == taken
    assert local.names() == ["v"]
    local.remove("v", block=False)
    assert (files.directory / "s" / "disk.img").read_bytes() == content


def test_a_copy_keeps_content_holes_modes_and_links(local: LocalVolumes) -> None:
    original = make(local, "v")
    content = sparse(original / "disk.img")
    (original / "disk.img").chmod(0o640)
    (original / "sub").mkdir(mode=0o750)
    (original / "sub" / "link").symlink_to("../disk.img")
    os.mkfifo(original / "pipe")
    copy = make(local, "w", source="v")
    image = copy / "disk.img"
    assert image.read_bytes() == content
    assert image.stat().st_blocks * 512 < MEGABYTE
    assert stat.S_IMODE(image.stat().st_mode) == 0o640
    assert stat.S_IMODE((copy / "sub").stat().st_mode) == 0o750
    assert (copy / "sub" / "link").readlink() == Path("../disk.img")
    assert not (copy / "pipe").exists()
    image.write_bytes(b"changed")
    assert (original / "disk.img").read_bytes() == content


def write_as_another(path: Path) -> None:
    """By somebody who then pretends that it was long ago."""
    before = path.stat()
    with path.open("r+b", buffering=0) as file:
        file.write(b"after!".ljust(4096, b"\0"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "written": lambda volume: write_as_another(volume / "disk.img"),
    "added": lambda volume: (volume / "sub" / "new").write_bytes(b""),
    "removed": lambda volume: (volume / "sub" / "old").unlink(),
    "replaced": lambda volume: (volume / "sub" / "old").rename(volume / "disk.img"),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("packed", ["", "disk.img"], ids=["plain", "packed"])
def test_a_copy_of_what_changes_meanwhile_fails_though_nobody_is_there_any_more(
    local: LocalVolumes, monkeypatch: pytest.MonkeyPatch, name: str, packed: str
) -> None:
    monkeypatch.setattr(LocalVolumes, "shares_blocks", False)
    original, files = make(local, "v"), local.snapshots()
    files.prepare()
    (original / "disk.img").write_bytes(b"before".ljust(4096, b"\0"))
    (original / "sub").mkdir()
    (original / "sub" / "old").write_bytes(bytes(4096))
    disturb(monkeypatch, "clone_tree", lambda: CHANGES[name](original))
    taken = replace(record("s"), packed=packed)
    with pytest.raises(OSError, match="was changed while it was copied"):
        files.fill(taken, 0, original, Progress())
    monkeypatch.undo()
    monkeypatch.setattr(LocalVolumes, "shares_blocks", False)
    files.fill(taken, 0, original, Progress())


@needs_loop
def test_a_copy_of_a_device_that_is_written_to_meanwhile_fails(
    local: LocalVolumes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalVolumes, "shares_blocks", False)
    device = make(local, "v", block=True)
    try:
        disturb(monkeypatch, "clone_file", lambda: device.write_bytes(b"after!"))
        with pytest.raises(OSError, match=r"was changed while it was copied: .*block\.img"):
            make(local, "w", source="v", block=True)
    finally:
        local.remove("v", block=True)


def disturb(monkeypatch: pytest.MonkeyPatch, name: str, change: Callable[[], object]) -> None:
    """Lets something happen once that part of a copy is made."""
    real = getattr(clone, name)

    def disturbed(*args: object, **options: object) -> None:
        real(*args, **options)
        change()

    monkeypatch.setattr(clone, name, disturbed)


def test_a_copy_counts_its_bytes_and_can_be_called_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clone, "share_blocks", lambda *_: False)
    source = tmp_path / "source"
    sparse(source)
    progress = Progress()
    clone_file(source, tmp_path / "copy", progress)
    assert progress.done == 8192
    assert (tmp_path / "copy").read_bytes() == source.read_bytes()
    progress.cancelled.set()
    with pytest.raises(Cancelled):
        clone_file(source, tmp_path / "other", progress)


def test_where_the_kernel_copies_nothing_the_bytes_are_read_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot(*_: int) -> int:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(clone, "share_blocks", lambda *_: False)
    monkeypatch.setattr(clone.os, "copy_file_range", cannot)
    source = tmp_path / "source"
    content = sparse(source)
    clone_file(source, tmp_path / "copy", Progress())
    assert (tmp_path / "copy").read_bytes() == content
    assert (tmp_path / "copy").stat().st_blocks == source.stat().st_blocks


def test_what_vanishes_while_it_is_copied_is_told(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    with pytest.raises(FileNotFoundError):
        clone_tree(tmp_path / "absent", tmp_path / "target", Progress())


@needs_loop
def test_a_block_volume_is_a_device_that_grows_and_goes(local: LocalVolumes) -> None:
    device = make(local, "v", block=True, size=MEGABYTE + 1)
    try:
        assert stat.S_ISBLK(device.stat().st_mode)
        assert size_of(device) == MEGABYTE + 4096
        with device.open("r+b", buffering=0) as opened:
            opened.write(b"data" * 1024)
            os.fsync(opened.fileno())
        local.grow("v", True, 2 * MEGABYTE)
        assert size_of(device) == 2 * MEGABYTE
        copy = make(local, "w", source="v", block=True, size=4 * MEGABYTE)
        assert copy.resolve() != device.resolve()
        assert copy.open("rb").read(4096) == b"data" * 1024
        assert size_of(copy) == 4 * MEGABYTE
    finally:
        for name in ("v", "w"):
            local.remove(name, block=True)
    assert not any(str(local.directory) in backing for backing in backing_files())


@needs_loop
def test_a_device_that_was_lost_comes_back_and_none_is_attached_twice(local: LocalVolumes) -> None:
    device = make(local, "v", block=True)
    image = local.directory / "v" / "block.img"
    try:
        before = device.resolve()
        local.attach("v")
        assert device.resolve() == before
        assert sum(str(image) in backing for backing in backing_files()) == 1
        # Killed between attaching and linking: the file still leads to its device.
        device.unlink()
        local.attach("v")
        assert device.resolve() == before
        local.detach_all()
        assert loop.attached(image) is None
        local.attach("v")
        assert loop.attached(image) == device.readlink()
        # Killed between renaming and deleting: the device goes all the same.
        (local.directory / "v").rename(local.directory / ".deleting-v")
    finally:
        local.remove("v", block=True)
    assert not any(str(local.directory) in backing for backing in backing_files())


@needs_loop
def test_no_link_leads_to_the_device_of_another_volume(local: LocalVolumes) -> None:
    first, second = make(local, "v", block=True), make(local, "w", block=True)
    try:
        # As after a reboot: no device is attached, and the numbers are given out anew.
        local.detach_all()
        first.unlink()
        first.symlink_to(second.readlink())
        local.prepare()
        assert not first.is_symlink()
        assert not second.is_symlink()
        local.attach("w")
        first.symlink_to(second.readlink())
        second.unlink()
        local.attach("w")
        assert not first.is_symlink()
        local.attach("v")
        assert first.resolve() != second.resolve()
    finally:
        for name in ("v", "w"):
            local.remove(name, block=True)


@needs_loop
def test_the_node_of_a_device_is_made_where_nobody_else_makes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dev").mkdir()
    monkeypatch.setattr(loop, "_DEVICES", tmp_path / "dev")
    file = tmp_path / "file"
    file.write_bytes(b"content" + bytes(MEGABYTE - 7))
    device = loop.attach(file)
    try:
        assert device.parent == tmp_path / "dev"
        assert device.open("rb").read(7) == b"content"
    finally:
        loop.detach(file)


def size_of(device: Path) -> int:
    with device.open("rb") as opened:
        return opened.seek(0, os.SEEK_END)


def backing_files() -> list[str]:
    found = []
    for path in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            found.append(path.read_text())
        except OSError:
            continue  # Detached in this moment, by another test.
    return found


def test_links_are_copied_as_links_and_never_followed(tmp_path: Path, local: LocalVolumes) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"the host's")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "key").write_bytes(b"the host's")
    original = make(local, "v")
    (original / "file").symlink_to(secret)
    (original / "directory").symlink_to(tmp_path / "outside")
    copy = make(local, "w", source="v")
    assert (copy / "file").is_symlink()
    assert (copy / "directory").is_symlink()
    with pytest.raises(OSError, match="symbolic link"):
        clone_file(original / "file", tmp_path / "stolen", Progress())
    assert not (tmp_path / "stolen").exists()
