"""Removing a directory with all that is in it, and nothing else."""

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingot.host.tree import remove_tree
from unprivileged import run_as_owner


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A directory with files, directories and links in it."""
    top = tmp_path / "top"
    (top / "one" / "two").mkdir(parents=True)
    (top / "one" / "two" / "file").write_text("gone")
    (top / "pipe").symlink_to("nowhere")
    return top


@pytest.fixture
def bound(tree: Path, tmp_path: Path) -> Iterator[Path]:
    """A directory beside the tree that is seen in it, too: of the same filesystem, by another mount."""
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "data").write_text("stays")
    place = tree / "one" / "größer als 1"
    place.mkdir()
    answer = subprocess.run(["mount", "--bind", kept, place], check=False, capture_output=True, text=True)
    if answer.returncode != 0:
        pytest.skip(f"nothing can be mounted here: {answer.stderr.strip()}")
    yield kept
    subprocess.run(["umount", "--lazy", place], check=False, capture_output=True)


def test_everything_goes(tree: Path) -> None:
    remove_tree(tree)
    assert list(tree.parent.iterdir()) == []


def test_a_tree_deeper_than_a_process_has_open_files_goes(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    here = os.open(top, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    remove_tree(top)
    assert list(tmp_path.iterdir()) == []


def test_what_is_gone_already_is_no_error(tmp_path: Path) -> None:
    remove_tree(tmp_path / "none")
    remove_tree(tmp_path / "none" / "at all")


def test_what_links_lead_to_stays(tree: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "data").write_text("stays")
    (tree / "one" / "link").symlink_to(kept)
    remove_tree(tree)
    assert (kept / "data").read_text() == "stays"
    assert not tree.exists()


def test_a_link_in_place_of_the_directory_is_not_followed(tree: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tree)
    with pytest.raises(OSError, match="link"):
        remove_tree(link)
    assert (tree / "one" / "two" / "file").exists()


def test_what_is_mounted_stays_though_it_is_of_the_same_filesystem(tree: Path, bound: Path) -> None:
    assert tree.stat().st_dev == bound.stat().st_dev
    with pytest.raises(OSError, match="größer als 1") as refused:
        remove_tree(tree)
    assert refused.value.errno == errno.EBUSY
    assert (bound / "data").read_text() == "stays"


def test_what_keeps_its_owner_out_goes_where_that_is_asked_for(tree: Path) -> None:
    (tree / "one" / "two" / "three").mkdir()
    (tree / "one" / "two" / "three").chmod(0)
    (tree / "one" / "two").chmod(0o500)
    call = f"remove_tree(Path({str(tree)!r}), unlock=True)"
    run_as_owner(f"from pathlib import Path; from ingot.host.tree import remove_tree; {call}")
    assert list(tree.parent.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may remove everything")
def test_what_may_not_be_removed_is_named(tree: Path) -> None:
    (tree / "one" / "two").chmod(0o500)
    with pytest.raises(PermissionError, match=str(tree / "one" / "two" / "file")):
        remove_tree(tree)
    (tree / "one" / "two").chmod(0o700)
