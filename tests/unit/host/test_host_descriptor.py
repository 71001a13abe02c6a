"""Descriptors: the file itself, whatever its name leads to, and closed with the last who refers to it."""

import os
import subprocess
from pathlib import Path

import pytest

from ingot.host.descriptor import Descriptor


def test_the_file_is_reached_when_its_name_leads_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one")
    opened = Descriptor.open(path, os.O_RDONLY)
    path.rename(tmp_path / "b")
    path.write_bytes(b"two")
    assert opened.path.read_bytes() == b"one"
    assert subprocess.check_output(["cat", opened.path]) == b"one"
    writable = opened.again(os.O_WRONLY)
    os.write(writable.fileno(), b"ONE")
    assert (tmp_path / "b").read_bytes() == b"ONE"


def test_it_is_closed_with_the_last_who_refers_to_it(tmp_path: Path) -> None:
    opened = Descriptor.open(tmp_path, os.O_RDONLY)
    number = opened.fileno()
    del opened
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


def test_relative_to_a_directory_and_not_inherited(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    directory = Descriptor.open(tmp_path, os.O_RDONLY)
    opened = Descriptor.open(Path("a"), os.O_RDONLY, directory.fileno())
    assert not os.get_inheritable(opened.fileno())
