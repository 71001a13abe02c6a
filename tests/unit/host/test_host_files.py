"""Files that are there whole or not at all."""

import os
import stat
from pathlib import Path

import pytest

from ingot.host.files import private_directory, write_atomically


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_private_file_is_for_its_owner_only_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_atomically(tmp_path / "key", b"secret")
    finally:
        os.umask(before)
    assert mode(tmp_path / "key") == 0o600
    assert (tmp_path / "key").read_bytes() == b"secret"


def test_an_open_file_is_replaced_by_a_closed_one(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(b"old")
    path.chmod(0o644)
    write_atomically(path, b"new")
    assert (mode(path), path.read_bytes()) == (0o600, b"new")


def test_a_reader_keeps_the_old_file_while_a_new_one_is_written(tmp_path: Path) -> None:
    path = tmp_path / "key"
    write_atomically(path, b"old")
    with path.open("rb") as reader:
        write_atomically(path, b"new")
        assert reader.read() == b"old"


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_atomically(tmp_path / "key", b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(tmp_path / "key", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["key"]
    assert (tmp_path / "key").read_bytes() == b"old"


def test_a_private_directory_is_closed_to_others(tmp_path: Path) -> None:
    (tmp_path / "pki").mkdir(mode=0o755)
    private_directory(tmp_path / "pki")
    assert mode(tmp_path / "pki") == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("planted", ["directory", "link"])
def test_a_directory_of_another_user_is_never_private(tmp_path: Path, planted: str) -> None:
    path, ours = tmp_path / "cache", tmp_path / "ours"
    ours.mkdir(mode=0o755)
    if planted == "link":
        path.symlink_to(ours)
    else:
        path.mkdir(mode=0o755)
    os.chown(path, 65534, 65534, follow_symlinks=False)
    with pytest.raises(PermissionError, match="it belongs to user 65534, not 0"):
        private_directory(path)
    assert mode(ours) == 0o755
