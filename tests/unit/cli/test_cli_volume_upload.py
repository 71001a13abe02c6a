"""How large a volume `ingot volume upload` asks for, and which files it does not even begin with."""

import gzip
from pathlib import Path

import click
import pytest

from ingot.cli.volume.options import Target
from ingot.cli.volume.upload import sized

MIB = 1 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    made = tmp_path / "disk.raw"
    made.write_bytes(bytes(MIB + 1))
    return made


def test_the_volume_has_whole_blocks_for_the_disk(disk: Path) -> None:
    assert sized(Target(), disk).size == str(MIB + 4096)
    assert sized(Target(mode="Block"), disk).size == str(MIB + 1)
    assert sized(Target(size="2Mi"), disk).size == "2Mi"


@pytest.mark.parametrize("size", ["1Mi", "100m", str(MIB + 1)])
def test_a_disk_that_does_not_fit_is_refused_before_anything_is_made(disk: Path, size: str) -> None:
    with pytest.raises(click.ClickException, match=f"needs {MIB + 4096} bytes, and --size {size} is") as caught:
        sized(Target(size=size), disk)
    assert str(disk) in caught.value.message


def test_only_unpacking_tells_the_size_of_what_is_compressed(disk: Path) -> None:
    packed = disk.with_suffix(".gz")
    packed.write_bytes(gzip.compress(disk.read_bytes()))
    assert sized(Target(size="1Mi"), packed).size == "1Mi"
    with pytest.raises(click.UsageError, match="give --size"):
        sized(Target(), packed)


def test_a_file_without_bytes_has_no_disk(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(click.ClickException, match="empty has no bytes"):
        sized(Target(), tmp_path / "empty")
    with pytest.raises(click.ClickException, match="empty has no bytes"):
        sized(Target(size="1Mi"), tmp_path / "empty")


def test_a_size_that_is_none_is_for_the_server_to_refuse(disk: Path) -> None:
    assert sized(Target(size="much"), disk).size == "much"
