"""Imports that end at any write, as by a kill, and are taken up by the next."""

import gzip
import hashlib
import math
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ingot.images import decoding
from ingot.images.pipeline import copier, pour
from ingot.images.pipeline.importer import import_image
from ingot.images.pipeline.options import Imported, ImportOptions
from ingot.images.pipeline.sink import Sink
from ingot.images.pipeline.source import Source
from ingot.images.pipeline.target import FileTarget
from ingot.images.pipeline.writer import Writer

SIZE = 4 << 20


class Killed(BaseException):
    """The end of the process, for all that the import can tell."""


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    directory = tmp_path_factory.mktemp("images")
    noise = random.Random(7)  # noqa: S311
    disk = directory / "raw"
    with disk.open("wb") as file:
        for start in range(0, SIZE, 1 << 19):
            file.seek(start)
            file.write(noise.randbytes(noise.randrange(1 << 16, 1 << 19)))
        file.truncate(SIZE)
    qcow2 = directory / "qcow2"
    subprocess.run(["qemu-img", "convert", "-O", "qcow2", disk, qcow2], check=True)
    made = {"raw": disk, "qcow2": qcow2}
    for name in ("raw", "qcow2"):
        made[f"{name}.gz"] = directory / f"{name}.gz"
        made[f"{name}.gz"].write_bytes(gzip.compress(made[name].read_bytes(), 1))
    return made


@pytest.fixture(autouse=True)
def _finely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Journals at every step, in steps that suit small disks."""
    for module in (copier, pour):
        monkeypatch.setattr(module, "SAVE_SECONDS", 0.0)
    monkeypatch.setattr("ingot.images.pipeline.writer._SIZE", 1 << 18)
    monkeypatch.setattr("ingot.images.fetching.PIECE", 1 << 17)
    monkeypatch.setattr(decoding, "_CUT", 1 << 17)


class _Deadline:
    """Lets so many writes pass, and then no more."""

    def __init__(self, patch: pytest.MonkeyPatch, writes: int) -> None:
        self.left = writes
        write = FileTarget.write

        def counted(target: FileTarget, start: int, data: memoryview) -> None:
            self.left -= 1
            if self.left < 0:
                # A kill may come in the middle of a write.
                write(target, start, data[: len(data) // 2])
                raise Killed
            write(target, start, data)

        patch.setattr(FileTarget, "write", counted)


def _import(source: Path, target: Path, form: str) -> Imported:
    return import_image(Source.parse(str(source)), target, ImportOptions(format=form), lambda done, total: None)


def _killed_after(writes: int, source: Path, target: Path, form: str) -> bool:
    """Whether the import was killed; otherwise it has ended well."""
    with pytest.MonkeyPatch.context() as patch:
        _Deadline(patch, writes)
        try:
            _import(source, target, form)
        except Killed:
            return True
    return False


@pytest.mark.parametrize("form", ["raw", "qcow2"])
@pytest.mark.parametrize("name", ["raw", "qcow2", "raw.gz", "qcow2.gz"])
def test_goes_on_from_every_write(tmp_path: Path, images: dict[str, Path], name: str, form: str) -> None:
    target = tmp_path / "disk"
    runs = 0
    while _killed_after(1 + runs, images[name], target, form):
        assert not target.exists()
        runs += 1
        assert runs < 60, "it does not come to an end"
    assert runs > 3
    _check(target, images["raw"], form)
    assert [each.name for each in tmp_path.iterdir()] == ["disk"]


@pytest.mark.parametrize("synced", [False, True], ids=["in the kernel's hands", "on the disk"])
@pytest.mark.parametrize("name", ["raw", "qcow2.gz"])
def test_what_is_done_is_not_done_again(
    tmp_path: Path, images: dict[str, Path], name: str, synced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it comes so slowly that each step is brought to the disk."""
    for module in (copier, pour):
        monkeypatch.setattr(module, "SYNC_SECONDS", 0.0 if synced else math.inf)
    target = tmp_path / "disk"
    assert _killed_after(8, images[name], target, "raw")
    imported = _import(images[name], target, "raw")
    assert imported.resumed_from > 0
    assert imported.fetched + imported.resumed_from <= images[name].stat().st_size + (1 << 20)
    assert imported.fetched < images[name].stat().st_size
    _check(target, images["raw"], "raw")


def _with_zeros(images: dict[str, Path], name: str) -> tuple[bytes, bytes]:
    """An image that has zeros in its second half, and one that has something else there."""
    honest = bytearray(images["raw"].read_bytes())
    honest[SIZE // 2 :] = bytes(SIZE // 2)
    evil = honest[: SIZE // 2] + b"EVIL" * (SIZE // 8)
    made = []
    for content in (honest, evil):
        if name == "qcow2":
            raw = images["raw"].with_name("full")
            raw.write_bytes(content)
            # With clusters for zeros, so that both have all of theirs at the same places.
            subprocess.run(["qemu-img", "convert", "-S", "0", "-O", "qcow2", raw, raw.with_suffix(".q")], check=True)
            content = raw.with_suffix(".q").read_bytes()
        # Not compressed, so that the second differs from the first in the second half only.
        made.append(gzip.compress(content, 0, mtime=0))
    return made[0], made[1]


def _early(save: Callable[..., None]) -> Callable[..., None]:
    """Saves no state of the second half."""

    def save_early(saving: object, writer: Writer, sink: Sink, checkpoint: bytes, moved: int) -> None:
        if moved < SIZE // 2:
            save(saving, writer, sink, checkpoint, moved)

    return save_early


@pytest.mark.parametrize("form", ["raw", "qcow2"])
@pytest.mark.parametrize("name", ["raw", "qcow2"])
def test_nothing_stays_of_a_bad_first_attempt(
    tmp_path: Path, images: dict[str, Path], monkeypatch: pytest.MonkeyPatch, name: str, form: str
) -> None:
    """A server that lies, and is gone before the digest tells; where the lie was the truth is zeros."""
    monkeypatch.setattr("ingot.images.still_file.version", lambda found: "the same")
    monkeypatch.setattr("ingot.images.qcow2.stream._WINDOW", 1 << 18)
    honest, evil = _with_zeros(images, name)
    expected = tmp_path / "expected"
    expected.write_bytes(images["raw"].read_bytes()[: SIZE // 2] + bytes(SIZE // 2))
    resumed = 0
    for writes in range(8, 15):
        source, target = tmp_path / "source", tmp_path / "disk"
        source.write_bytes(evil)
        with monkeypatch.context() as patch:
            patch.setattr(pour._Saving, "save", _early(pour._Saving.save))
            assert _killed_after(writes, source, target, form)
        source.write_bytes(honest)
        options = ImportOptions(format=form, checksum=f"sha256:{hashlib.sha256(honest).hexdigest()}")
        resumed += import_image(Source.parse(str(source)), target, options, lambda *_: None).resumed_from
        _check(target, expected, form)
        target.unlink()
    assert resumed > 0


def test_a_changed_source_begins_anew(tmp_path: Path, images: dict[str, Path]) -> None:
    source, target = tmp_path / "source", tmp_path / "disk"
    source.write_bytes(images["raw"].read_bytes())
    assert _killed_after(8, source, target, "raw")
    changed = bytes(1 << 20) + images["raw"].read_bytes()[1 << 20 :]
    source.write_bytes(changed)
    imported = _import(source, target, "raw")
    assert imported.resumed_from == 0
    assert target.read_bytes() == changed


def test_another_form_begins_anew(tmp_path: Path, images: dict[str, Path]) -> None:
    target = tmp_path / "disk"
    assert _killed_after(8, images["raw"], target, "raw")
    assert _import(images["raw"], target, "qcow2").resumed_from == 0
    _check(target, images["raw"], "qcow2")


def test_a_lost_spool_begins_anew(tmp_path: Path, images: dict[str, Path]) -> None:
    target = tmp_path / "disk"
    assert _killed_after(8, images["qcow2.gz"], target, "raw")
    (tmp_path / ".disk.ingot-spool").unlink()
    _import(images["qcow2.gz"], target, "raw")
    _check(target, images["raw"], "raw")


def test_a_lost_part_begins_anew(tmp_path: Path, images: dict[str, Path]) -> None:
    target = tmp_path / "disk"
    assert _killed_after(8, images["raw"], target, "raw")
    (tmp_path / ".disk.ingot-part").unlink()
    assert _import(images["raw"], target, "raw").resumed_from == 0
    _check(target, images["raw"], "raw")


def _check(target: Path, disk: Path, form: str) -> None:
    if form == "raw":
        assert target.read_bytes() == disk.read_bytes()
        return
    subprocess.run(["qemu-img", "check", "-q", target], check=True)
    subprocess.run(["qemu-img", "compare", "-q", "-f", "raw", "-F", "qcow2", disk, target], check=True)
