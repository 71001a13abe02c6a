"""The files of a volume in another one: all of them or none, and none from beside it (G10)."""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ingot.host import clone
from ingot.host.hard_links import HardLinks
from ingot.images.archive.copier import copy_files
from ingot.images.archive.staging import BEGUN, WHOLE, Staging
from ingot.images.fault import ImageFault


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    (path / "sub" / "deep").mkdir(parents=True)
    (path / "one.txt").write_text("one\n")
    (path / "one.txt").chmod(0o640)
    (path / "sub" / "deep" / "two.txt").write_text("two\n")
    (path / "sub").chmod(0o750)
    (tmp_path / "secret").write_text("the node's")
    (path / "sub" / "link").symlink_to("../../secret")
    (path / "lost+found").mkdir()
    (path / "lost+found" / "#1").write_text("of the filesystem")
    # Of an upload that was killed when all was told.
    (path / WHOLE).mkdir()
    with (path / "holes").open("wb") as file:
        file.truncate(64 << 20)
    return path


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "target"
    (path / "lost+found").mkdir(parents=True)
    return path


def _copy(source: Path, target: Path) -> int:
    return copy_files(source, target, lambda *_: None)


def _check(target: Path) -> None:
    assert sorted(each.name for each in target.iterdir()) == ["holes", "lost+found", "one.txt", "sub"]
    assert (target / "one.txt").read_text() == "one\n"
    assert stat.S_IMODE((target / "one.txt").stat().st_mode) == 0o640
    assert stat.S_IMODE((target / "sub").stat().st_mode) == 0o750
    assert (target / "sub" / "deep" / "two.txt").read_text() == "two\n"
    assert (target / "sub" / "link").readlink() == Path("../../secret")
    assert (target / "holes").stat().st_size == 64 << 20
    assert (target / "holes").stat().st_blocks == 0
    assert not list((target / "lost+found").iterdir())


def test_all_files_are_copied_and_links_are_not_followed(source: Path, target: Path) -> None:
    told: list[tuple[int, int]] = []
    copy_files(source, target, lambda done, total: told.append((done, total)))
    _check(target)
    assert all(done <= total for done, total in told)


@pytest.fixture
def several(tmp_path: Path) -> Path:
    """A file with three names, one of them deeper."""
    path = tmp_path / "several"
    (path / "sub" / "deep").mkdir(parents=True)
    (path / "first").write_bytes(b"x" * (1 << 20))
    for name in ("second", "sub/deep/third"):
        (path / name).hardlink_to(path / "first")
    return path


def _used(path: Path) -> int:
    return sum({each.stat().st_ino: each.stat().st_blocks * 512 for each in path.rglob("*")}.values())


def test_files_with_several_names_are_copied_once(several: Path, target: Path) -> None:
    told: list[tuple[int, int]] = []
    copy_files(several, target, lambda done, total: told.append((done, total)))
    assert {(target / name).stat().st_ino for name in ("second", "sub/deep/third")} == {
        (target / "first").stat().st_ino
    }
    assert _used(target) <= _used(several) + 4096
    assert all(done <= total < 2 << 20 for done, total in told)


def test_what_is_no_name_of_the_copy_any_more_gets_no_other_one(
    several: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "copy").mkdir()
    (tmp_path / "secret").write_text("the node's")
    real = HardLinks.note

    def replaced(self: HardLinks, *args: Any) -> None:
        real(self, *args)
        for each in (tmp_path / "copy").rglob("*"):
            if each.is_file() and not each.is_symlink():
                each.unlink()
                each.symlink_to(tmp_path / "secret")

    monkeypatch.setattr(HardLinks, "note", replaced)
    clone.clone_tree(several, tmp_path / "copy", clone.Progress())
    assert (tmp_path / "secret").stat().st_nlink == 1


def test_files_beyond_what_is_kept_in_mind_are_copied_for_each_name(
    several: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingot.host.hard_links._MOST_BYTES", 0)
    _copy(several, target)
    assert (target / "second").read_bytes() == (target / "first").read_bytes()
    assert not (target / "second").samefile(target / "first")


def test_one_that_was_killed_begins_anew(source: Path, target: Path) -> None:
    (target / BEGUN / "sub").mkdir(parents=True)
    (target / BEGUN / "half").write_text("of")
    _copy(source, target)
    _check(target)


def test_one_that_was_killed_when_all_was_there_only_shows_it(source: Path, target: Path) -> None:
    with Staging(target) as staging:
        staging.begin()
        clone.clone_tree(source, target / BEGUN, clone.Progress(), without=("lost+found", WHOLE))
        staging.commit()
    (target / WHOLE / "one.txt").rename(target / "one.txt")
    assert _copy(source, target) == 0
    _check(target)


def test_one_that_was_killed_before_it_could_say_so_takes_its_own_place(source: Path, target: Path) -> None:
    _copy(source, target)
    _copy(source, target)
    _check(target)


def test_nothing_is_seen_of_what_cannot_be_copied(source: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(clone, "share_blocks", lambda *_: False)
    monkeypatch.setattr(clone, "_copy_range", full)
    with pytest.raises(ImageFault, match="take a larger volume") as caught:
        _copy(source, target)
    assert caught.value.reason == "DiskFull"
    assert [each.name for each in target.iterdir()] == ["lost+found"]


def _write_as_long_ago(path: Path) -> None:
    before = path.stat()
    path.write_text("TWO\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "written": _write_as_long_ago,
    "shorter": lambda path: os.truncate(path, 1),
    "removed": lambda path: path.unlink(),
    "added": lambda path: path.with_name("two.txt.new").write_bytes(b""),
}


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("name", CHANGES)
def test_nothing_is_seen_of_what_changes_meanwhile_though_nobody_is_there_any_more(
    source: Path, target: Path, monkeypatch: pytest.MonkeyPatch, name: str, backwards: bool
) -> None:
    """Whether it has been copied already, or is yet to be: some files are old ones then, and others new ones."""
    names = clone._names
    monkeypatch.setattr(clone, "_names", lambda directory: sorted(names(directory), reverse=backwards))
    monkeypatch.setattr(clone, "share_blocks", lambda *_: False)
    changes = iter([CHANGES[name]])

    def progress(_done: int, _total: int) -> None:
        for change in changes:
            change(source / "sub" / "deep" / "two.txt")

    with pytest.raises(ImageFault, match=r"^the files of the source: two\.txt\S* was changed while") as caught:
        copy_files(source, target, progress)
    assert caught.value.reason == "Changed"
    assert [each.name for each in target.iterdir()] == ["lost+found"]
    _copy(source, target)


def test_a_link_in_the_place_of_a_directory_leads_nowhere(
    source: Path, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has the volume, too, may swap what was just made there."""
    outside = tmp_path / "outside"
    outside.mkdir()
    made = os.mkdir

    def swapped(name: str, mode: int, *, dir_fd: int) -> None:
        made(name, mode, dir_fd=dir_fd)
        if name == "sub":
            os.rmdir(name, dir_fd=dir_fd)
            os.symlink(outside, name, dir_fd=dir_fd)

    monkeypatch.setattr(clone.os, "mkdir", swapped)
    with pytest.raises(ImageFault, match="sub: Not a directory"):
        _copy(source, target)
    assert not list(outside.iterdir())


def test_what_is_nested_without_end_is_refused(tmp_path: Path, target: Path) -> None:
    source = tmp_path / "deep"
    source.mkdir()
    above = os.open(source, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d", dir_fd=above)
        below = os.open("d", os.O_RDONLY, dir_fd=above)
        os.close(above)
        above = below
    os.close(above)
    with pytest.raises(ImageFault, match="256 directories deep"):
        _copy(source, target)
    assert [each.name for each in target.iterdir()] == ["lost+found"]
