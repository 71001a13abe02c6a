"""Files of Secrets and ConfigMaps in a directory that belongs to somebody else."""

import os
import stat
from pathlib import Path

import pytest

from ingot.standalone.pods.contents import File, write
from ingot.standalone.pods.fault import PodFault
from ingot.standalone.pods.user import User

NOBODY = User(65534, 65534) if os.geteuid() == 0 else User()


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    return tmp_path / "volume"


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A directory that the pod's user has nothing to do with."""
    path = tmp_path / "foreign"
    path.mkdir()
    (path / "key").write_text("theirs")
    return path


def owner(path: Path) -> int:
    return path.lstat().st_uid


def test_files_are_the_users_alone(volume: Path) -> None:
    write(volume, {"key": File(b"one", 0o644), "deep/er/key": File(b"two", 0o755)}, NOBODY)
    assert (volume / "key").read_bytes() == b"one"
    assert (volume / "deep" / "er" / "key").read_bytes() == b"two"
    assert stat.S_IMODE((volume / "key").stat().st_mode) == 0o600
    wanted = os.geteuid() if NOBODY.uid is None else NOBODY.uid
    assert {owner(path) for path in (volume, *volume.rglob("*"))} == {wanted}


def test_a_file_is_replaced_and_no_scratch_file_stays(volume: Path) -> None:
    for content in (b"one", b"two"):
        write(volume, {"key": File(content, 0o644)}, NOBODY)
    assert [path.name for path in volume.iterdir()] == ["key"]
    assert (volume / "key").read_bytes() == b"two"


def test_a_link_in_place_of_a_directory_is_not_followed(volume: Path, foreign: Path) -> None:
    volume.mkdir()
    (volume / "deep").symlink_to(foreign)
    before = foreign.stat()
    with pytest.raises(PodFault, match="deep/key"):
        write(volume, {"deep/key": File(b"ours", 0o644)}, NOBODY)
    assert (foreign / "key").read_text() == "theirs"
    after = foreign.stat()
    assert (after.st_uid, after.st_mode, after.st_mtime_ns) == (before.st_uid, before.st_mode, before.st_mtime_ns)


def test_a_link_in_place_of_a_file_is_replaced(volume: Path, foreign: Path) -> None:
    volume.mkdir()
    (volume / "key").symlink_to(foreign / "key")
    write(volume, {"key": File(b"ours", 0o644)}, NOBODY)
    assert (foreign / "key").read_text() == "theirs"
    assert owner(foreign / "key") == os.geteuid()
    assert not (volume / "key").is_symlink()


def test_of_a_link_only_the_link_is_given_away(volume: Path, foreign: Path) -> None:
    volume.symlink_to(foreign)
    NOBODY.own(volume)
    assert owner(foreign) == os.geteuid()
