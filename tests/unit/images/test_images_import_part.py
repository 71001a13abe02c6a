"""Parts: they are ours alone, and become the target without harm to what is there."""

import os
import stat
from pathlib import Path

import pytest

from ingot.images.fault import ImageFault
from ingot.images.own_file import create_own, open_own
from ingot.images.pipeline import naming
from ingot.images.pipeline.importer import import_image
from ingot.images.pipeline.options import Imported, ImportOptions
from ingot.images.pipeline.part import FilePart
from ingot.images.pipeline.source import Source

NOBODY = 65534


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    path = tmp_path / "image.raw"
    path.write_bytes(os.urandom(1 << 18))
    return path


def _import(source: Path, target: Path, replace: bool = False) -> Imported:
    return import_image(Source.parse(str(source)), target, ImportOptions(replace=replace), lambda *_: None)


def _needs_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("files of others need root")


def test_a_part_that_somebody_else_has_left_is_not_used(tmp_path: Path, disk: Path) -> None:
    _needs_root()
    part = tmp_path / ".disk.ingot-part"
    part.write_bytes(b"planted" * 1000)
    os.chown(part, NOBODY, NOBODY)
    with part.open("r+b") as held:
        _import(disk, tmp_path / "disk")
        held.write(b"changed")
    assert (tmp_path / "disk").stat().st_uid == 0
    assert (tmp_path / "disk").read_bytes() == disk.read_bytes()


def test_a_part_with_a_second_name_is_not_written(tmp_path: Path, disk: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    (tmp_path / ".disk.ingot-part").hardlink_to(precious)
    _import(disk, tmp_path / "disk")
    assert precious.read_bytes() == b"precious"
    assert (tmp_path / "disk").read_bytes() == disk.read_bytes()


def test_own_files_are_new_or_nobody_elses(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    path.write_bytes(b"old")
    with path.open("rb") as old:
        os.close(create_own(path))
        assert old.read() == b"old"
    assert path.read_bytes() == b""
    os.close(open_own(path))
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(OSError, match="symbolic"):
        open_own(tmp_path / "link")
    (tmp_path / "second").hardlink_to(path)
    with pytest.raises(PermissionError, match="second name"):
        open_own(path)


@pytest.mark.parametrize("known", [True, False])
def test_a_file_that_comes_meanwhile_stays(
    tmp_path: Path, disk: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    if not known:
        monkeypatch.setattr(naming, "_renameat2", lambda path, name: 22)
    target = tmp_path / "disk"

    def come(done: int, total: int) -> None:
        target.write_bytes(b"precious")

    with pytest.raises(ImageFault, match="meanwhile") as caught:
        import_image(Source.parse(str(disk)), target, ImportOptions(), come)
    assert (caught.value.reason, caught.value.retry) == ("Exists", True)
    assert target.read_bytes() == b"precious"
    with pytest.raises(ImageFault, match="there is such a file"):
        _import(disk, target)
    _import(disk, target, replace=True)
    assert target.read_bytes() == disk.read_bytes()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["disk", "image.raw"]


def test_a_new_name_is_given(tmp_path: Path, disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(naming, "_renameat2", lambda path, name: 38)
    content = disk.read_bytes()
    naming.rename_new(disk, tmp_path / "new")
    assert (tmp_path / "new").read_bytes() == content
    assert not disk.exists()


def test_what_replaces_a_file_has_its_rights(tmp_path: Path, disk: Path) -> None:
    target = tmp_path / "disk"
    target.write_bytes(b"old")
    target.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(target, NOBODY, NOBODY)
    before = target.stat()
    _import(disk, target, replace=True)
    after = target.stat()
    assert stat.S_IMODE(after.st_mode) == 0o600
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
    assert target.read_bytes() == disk.read_bytes()


def test_a_file_that_was_changed_since_is_not_the_finished_one(
    tmp_path: Path, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "disk"
    with monkeypatch.context() as patch:
        patch.setattr(FilePart, "_remove", lambda self, journal: None)
        _import(disk, target)
    with target.open("r+b") as file:
        file.write(b"changed")
    with pytest.raises(ImageFault, match="there is such a file"):
        _import(disk, target)
    assert _import(disk, target, replace=True).fetched > 0
    assert target.read_bytes() == disk.read_bytes()
