"""What a file is known by again, when it goes on being sent."""

import os
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import click
import pytest

from ingot.cli.volume.parcel import Changed, Parcel
from unit.images.qemu_io import open_in_qemu

MIB = 1 << 20
SIZE = 3 * MIB


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "disk.raw"
    made.write_bytes(bytes(SIZE))
    os.utime(made, ns=(5, 5))
    return made


def poke(file: Path, place: int) -> None:
    """Another byte there; the time of the last change stays."""
    with file.open("r+b") as opened:
        opened.seek(place)
        opened.write(b"x")
    os.utime(file, ns=(5, 5))


@pytest.mark.parametrize(
    "change",
    [
        lambda file: poke(file, 0),
        lambda file: poke(file, SIZE - 1),
        lambda file: poke(file, SIZE),
        lambda file: os.utime(file, ns=(5, 6)),
    ],
)
def test_a_changed_file_is_another_one(file: Path, change: Callable[[Path], None]) -> None:
    before = Parcel.of(file)
    before.check()
    assert Parcel.of(file) == before
    change(file)
    assert Parcel.of(file).identity != before.identity
    with pytest.raises(Changed, match="was changed while it was sent"):
        before.check()


def test_an_empty_file_is_known_too(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert Parcel.of(tmp_path / "empty").identity


def test_a_file_is_known_again_at_another_place_but_must_stay_where_it_is(file: Path) -> None:
    before = Parcel.of(file)
    moved, copy = file.with_name("moved"), file.read_bytes()
    file.rename(moved)
    assert Parcel.of(moved).identity == before.identity
    file.write_bytes(copy)
    os.utime(file, ns=(5, 5))
    with pytest.raises(Changed, match="was changed while it was sent"):
        before.check()


def test_what_qemu_may_write_is_neither_begun_nor_sent_to_its_end(tmp_path: Path) -> None:
    image = tmp_path / "disk.qcow2"
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", image, "1M"], check=True)
    before = Parcel.of(image)
    with open_in_qemu(image):
        for look in (before.check, lambda: Parcel.of(image)):
            with pytest.raises(click.ClickException, match="a machine or a program of QEMU has it open"):
                look()


def test_what_cannot_be_read_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(click.ClickException, match="missing cannot be read: No such file or directory"):
        Parcel.of(tmp_path / "missing")


async def test_the_rest_is_sent_and_told(file: Path) -> None:
    poke(file, SIZE - 1)
    told: list[tuple[int, int]] = []
    pieces = [piece async for piece in Parcel.of(file).pieces(2 * MIB - 1, lambda *now: told.append(now))]
    assert b"".join(pieces) == bytes(MIB) + b"x"
    assert (told[0], told[-1]) == ((2 * MIB - 1, SIZE), (SIZE, SIZE))


@pytest.mark.parametrize(
    "change", [lambda file: poke(file, 0), lambda file: poke(file, SIZE), lambda file: os.truncate(file, SIZE - 1)]
)
async def test_the_last_piece_of_a_changed_file_stays_here(file: Path, change: Callable[[Path], None]) -> None:
    pieces = Parcel.of(file).pieces(0, lambda _done, _size: None)
    sent = [await anext(pieces)]
    change(file)
    with pytest.raises(Changed, match="was changed while it was sent"):
        await collect(pieces, sent)
    assert sum(map(len, sent)) < SIZE


def test_a_block_device_is_refused_with_the_way_to_a_file(loop: tuple[Path, Path]) -> None:
    _, device = loop
    with pytest.raises(click.ClickException, match=f"{device} is a block device.*`ingot image pull {device} FILE`"):
        Parcel.of(device)


async def collect(pieces: AsyncIterator[bytes], sent: list[bytes]) -> None:
    async for piece in pieces:
        sent.append(piece)
