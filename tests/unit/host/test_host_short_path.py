"""Short names for directories of sockets."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingot.host.short_path import ShortPath

LONGEST = 40


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with a long path; whoever we are, we have no runtime directory."""
    path = tmp_path / ("x" * 200)
    path.mkdir()
    user = os.getuid()
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    yield path
    ShortPath(path, LONGEST).path.unlink(missing_ok=True)


def test_a_short_path_is_itself() -> None:
    short = ShortPath(Path("/var/lib/ingot"), LONGEST)
    assert short.path == Path("/var/lib/ingot")
    short.make()
    short.remove()


def test_a_long_path_gets_the_same_link_every_time_until_it_is_removed(directory: Path) -> None:
    short = ShortPath(directory, LONGEST)
    assert len(str(short.path)) <= LONGEST
    for _ in range(2):
        short.make()
        assert short.path.resolve() == directory
    assert ShortPath(directory, LONGEST).path == short.path
    ShortPath(directory, LONGEST).remove()
    assert not short.path.is_symlink()
    short.remove()


def test_a_name_that_is_taken_is_neither_used_nor_removed(directory: Path, tmp_path: Path) -> None:
    short = ShortPath(directory, LONGEST)
    short.path.symlink_to(tmp_path)
    with pytest.raises(FileExistsError):
        short.make()
    short.remove()
    assert short.path.resolve() == tmp_path


def test_the_runtime_directory_is_used_where_it_is_short(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/var")
    monkeypatch.setattr(os, "access", lambda *_: True)
    assert ShortPath(directory, LONGEST).path.parent == Path("/var")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(directory))
    assert ShortPath(directory, LONGEST).path.parent != directory
