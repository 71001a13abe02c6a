"""Imports of local files: whatever the image is in, the target is its disk, whole or not at all."""

import fcntl
import functools
import gzip
import hashlib
import io
import itertools
import lzma
import os
import random
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from ingot.images.fault import ImageFault
from ingot.images.pipeline.importer import import_image
from ingot.images.pipeline.options import Imported, ImportOptions
from ingot.images.pipeline.source import Source
from ingot.images.pipeline.target import FileTarget

SIZE = 6 << 20


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A raw disk with holes, zeros and an end that is no multiple of anything but sectors."""
    path = tmp_path_factory.mktemp("disk") / "disk.raw"
    noise = random.Random(4)  # noqa: S311
    with path.open("wb") as file:
        file.truncate(SIZE + 512)
        for start, length in ((0, 1 << 16), (1 << 20, 300_000), (3 << 20, 1 << 20), (SIZE, 512)):
            file.seek(start)
            file.write(noise.randbytes(length))
        file.seek(2 << 20)
        file.write(bytes(1 << 19))
    return path


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True, capture_output=True)


def _foreign(disk: Path, form: str) -> bytes:
    path = disk.with_name(f"image.{form}")
    _run("qemu-img", "convert", "-O", form, disk, path)
    return path.read_bytes()


def _qcow2(disk: Path, *options: str) -> bytes:
    path = disk.with_name("image.qcow2")
    _run("qemu-img", "convert", "-O", "qcow2", *options, disk, path)
    return path.read_bytes()


def _tar(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


PACKINGS: dict[str, Callable[[Path], bytes]] = {
    "raw": lambda disk: disk.read_bytes(),
    "qcow2": _qcow2,
    "compressed qcow2": lambda disk: _qcow2(disk, "-c"),
    "raw.gz": lambda disk: gzip.compress(disk.read_bytes(), 1),
    "raw.xz": lambda disk: lzma.compress(disk.read_bytes(), preset=0),
    "qcow2.gz": lambda disk: gzip.compress(_qcow2(disk), 1),
    "compressed qcow2.gz": lambda disk: gzip.compress(_qcow2(disk, "-c"), 1),
    "vmdk": lambda disk: _foreign(disk, "vmdk"),
    "vdi in tar.gz": lambda disk: gzip.compress(_tar("disk/disk.vdi", _foreign(disk, "vdi")), 1),
    "raw in tar": lambda disk: _tar("disk/disk.img", disk.read_bytes()),
    "qcow2 in tar.gz": lambda disk: gzip.compress(_tar("./disk/disk.qcow2", _qcow2(disk)), 1),
}


@pytest.fixture(scope="module")
def packed(disk: Path) -> Callable[[str], bytes]:
    """The disk in each packing, made once."""
    return functools.cache(lambda packing: PACKINGS[packing](disk))


def _import(source: Path | str, target: Path, **options: object) -> Imported:
    told: list[tuple[int, int]] = []
    imported = import_image(
        Source.parse(str(source)), target, ImportOptions(**options), lambda *each: told.append(each)
    )
    assert all(0 <= before[0] <= after[0] for before, after in itertools.pairwise(told))
    return imported


def _only(directory: Path, *names: str) -> None:
    assert sorted(each.name for each in directory.iterdir()) == sorted(names)


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("form", ["raw", "qcow2"])
def test_every_packing_becomes_the_disk(
    tmp_path: Path, disk: Path, packed: Callable[[str], bytes], packing: str, form: str
) -> None:
    source = tmp_path / "image"
    source.write_bytes(packed(packing))
    imported = _import(source, tmp_path / "disk", format=form)
    assert imported.size == disk.stat().st_size
    assert imported.fetched > 0
    # What QEMU has to decode must be there as a whole, and is said to have been.
    assert (imported.spooled > 1 << 20) == packing.startswith("vdi")
    if form == "raw":
        assert (tmp_path / "disk").read_bytes() == disk.read_bytes()
        assert (tmp_path / "disk").stat().st_blocks * 512 < 3 << 20
    else:
        _run("qemu-img", "check", "-f", "qcow2", tmp_path / "disk")
        _run("qemu-img", "compare", "-f", "raw", "-F", "qcow2", disk, tmp_path / "disk")
    _only(tmp_path, "image", "disk")


def test_how_much_there_is_is_told_before_the_first_byte(tmp_path: Path, packed: Callable[[str], bytes]) -> None:
    """On a slow line the first piece takes minutes."""
    (tmp_path / "image").write_bytes(image := packed("raw.gz"))
    told: list[tuple[int, int]] = []
    source = Source.parse(str(tmp_path / "image"))
    import_image(source, tmp_path / "disk", ImportOptions(), lambda done, total: told.append((done, total)))
    assert told[0] == (0, len(image))


@pytest.mark.parametrize("form", ["raw", "qcow2"])
def test_grows_the_disk(tmp_path: Path, disk: Path, form: str) -> None:
    imported = _import(disk, tmp_path / "disk", format=form, size=20 << 20)
    assert imported.size == 20 << 20
    _run("qemu-img", "convert", "-f", form, "-O", "raw", tmp_path / "disk", tmp_path / "raw")
    content = (tmp_path / "raw").read_bytes()
    assert content == disk.read_bytes() + bytes((20 << 20) - disk.stat().st_size)


@pytest.mark.parametrize("packed", [False, True])
def test_a_disk_of_a_volume_is_padded_to_whole_blocks(tmp_path: Path, packed: bool) -> None:
    """QEMU starts no guest from another one, and no byte may be lost."""
    content = os.urandom((1 << 20) + 1)
    source, out = tmp_path / "image", tmp_path / "disk"
    source.write_bytes(gzip.compress(content, 1) if packed else content)
    assert _import(source, out, padded=True, limit=2 << 20).size == (1 << 20) + 4096
    assert out.read_bytes() == content.ljust((1 << 20) + 4096, b"\0")
    assert _import(source, out, replace=True).size == len(content)
    with pytest.raises(ImageFault, match="1052672 in whole blocks of 4096") as caught:
        _import(source, out, replace=True, padded=True, limit=len(content))
    assert caught.value.reason == "TooLarge"
    assert out.read_bytes() == content


@pytest.mark.parametrize("packing", ["raw", "qcow2", "raw.gz", "qcow2 in tar.gz"])
@pytest.mark.parametrize("bound", ["limit", "size"])
def test_a_disk_over_the_bound_is_refused(
    tmp_path: Path, disk: Path, packed: Callable[[str], bytes], packing: str, bound: str
) -> None:
    source = tmp_path / "image"
    source.write_bytes(packed(packing))
    with pytest.raises(ImageFault) as caught:
        _import(source, tmp_path / "disk", **{bound: 4 << 20})
    assert caught.value.reason == "TooLarge"
    _only(tmp_path, "image")


def test_a_bomb_is_stopped_at_the_bound(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.gz"
    bomb.write_bytes(gzip.compress(b"\1" * (64 << 20), 1))
    with pytest.raises(ImageFault, match=str(8 << 20)):
        _import(bomb, tmp_path / "disk", limit=8 << 20)
    _only(tmp_path, "bomb.gz")


@pytest.mark.parametrize("packing", ["raw", "qcow2", "qcow2.gz"])
@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
def test_the_checksum_of_the_source_is_checked(
    tmp_path: Path, disk: Path, packed: Callable[[str], bytes], packing: str, algorithm: str
) -> None:
    source = tmp_path / "image"
    source.write_bytes(packed(packing))
    right = hashlib.new(algorithm, source.read_bytes()).hexdigest()
    wrong = hashlib.new(algorithm, b"").hexdigest()
    with pytest.raises(ImageFault, match=wrong) as caught:
        _import(source, tmp_path / "disk", checksum=f"{algorithm}:{wrong}")
    assert caught.value.reason == "WrongDigest"
    _only(tmp_path, "image")
    _import(source, tmp_path / "disk", checksum=f"{algorithm}:{right}")
    assert (tmp_path / "disk").read_bytes() == disk.read_bytes()


@pytest.mark.parametrize("packing", ["raw.gz", "raw.xz", "qcow2", "raw in tar", "qcow2 in tar.gz"])
def test_a_truncated_source_makes_nothing(
    tmp_path: Path, disk: Path, packed: Callable[[str], bytes], packing: str
) -> None:
    whole = packed(packing)
    (tmp_path / "image").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ImageFault):
        _import(tmp_path / "image", tmp_path / "disk")
    _only(tmp_path, "image")


def test_a_source_that_changes_makes_nothing(tmp_path: Path, disk: Path) -> None:
    source = tmp_path / "image"
    source.write_bytes(disk.read_bytes())

    def change(done: int, total: int) -> None:
        if done == total:
            os.utime(source, ns=(1, 1))

    with pytest.raises(ImageFault, match="changed"):
        import_image(Source.parse(str(source)), tmp_path / "disk", ImportOptions(), change)
    _only(tmp_path, "image")


def test_an_existing_file_stays_unless_it_is_to_be_replaced(tmp_path: Path, disk: Path) -> None:
    (tmp_path / "disk").write_bytes(b"precious")
    with pytest.raises(ImageFault, match="there is such a file"):
        _import(disk, tmp_path / "disk")
    assert (tmp_path / "disk").read_bytes() == b"precious"
    _only(tmp_path, "disk")
    _import(disk, tmp_path / "disk", replace=True)
    assert (tmp_path / "disk").read_bytes() == disk.read_bytes()


def test_two_imports_into_one_target_are_one_too_many(tmp_path: Path, disk: Path) -> None:
    with (tmp_path / ".disk.ingot-part").open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(ImageFault, match="another import") as caught:
            _import(disk, tmp_path / "disk")
    assert caught.value.reason == "InUse"
    _import(disk, tmp_path / "disk")
    _only(tmp_path, "disk")


def test_a_full_volume_gets_its_room_back(
    tmp_path: Path, packed: Callable[[str], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    write = FileTarget.write

    def full(self: FileTarget, start: int, data: memoryview) -> None:
        if start >= 2 << 20:
            raise OSError(28, os.strerror(28))
        write(self, start, data)

    for packing in ("raw", "qcow2.gz"):
        source = tmp_path / "image"
        source.write_bytes(packed(packing))
        with monkeypatch.context() as patch:
            patch.setattr(FileTarget, "write", full)
            with pytest.raises(ImageFault, match=r"make room for [0-9]+ bytes") as caught:
                _import(source, tmp_path / "disk")
        assert caught.value.reason == "DiskFull"
        _only(tmp_path, "image")


def test_a_source_that_is_not_there_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ImageFault, match=r"No such file.*named as docker://") as caught:
        _import(tmp_path / "absent.img", tmp_path / "disk")
    assert caught.value.subject == str(tmp_path / "absent.img")
    _only(tmp_path)


def test_a_source_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which of the two disks fails is what people want to know."""

    def fail(*_: object) -> int:
        raise OSError(5, os.strerror(5))

    source = tmp_path / "image"
    source.write_bytes(os.urandom(1 << 20))
    with monkeypatch.context() as patch:
        patch.setattr("ingot.images.content.FileContent.readinto", fail)
        with pytest.raises(ImageFault, match="Input/output error") as caught:
            _import(source, tmp_path / "disk")
    assert caught.value.subject == str(source)
    _only(tmp_path, "image")


def test_the_umask_says_who_may_read_it(tmp_path: Path, disk: Path) -> None:
    before = os.umask(0o027)
    try:
        _import(disk, tmp_path / "disk")
    finally:
        os.umask(before)
    assert (tmp_path / "disk").stat().st_mode & 0o777 == 0o640


def test_leftovers_of_another_source_are_removed(tmp_path: Path, disk: Path) -> None:
    (tmp_path / ".disk.ingot-part").write_bytes(b"\xff" * (8 << 20))
    (tmp_path / ".disk.ingot-journal").write_bytes(b"nonsense")
    (tmp_path / ".disk.ingot-spool").write_bytes(b"nonsense")
    imported = _import(disk, tmp_path / "disk")
    assert imported.resumed_from == 0
    assert (tmp_path / "disk").read_bytes() == disk.read_bytes()
    _only(tmp_path, "disk")


def test_a_kill_between_the_name_and_the_cleaning_up_is_no_loss(
    tmp_path: Path, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ingot.images.pipeline.part import FilePart

    with monkeypatch.context() as patch:
        patch.setattr(FilePart, "_remove", lambda self, journal: None)
        _import(disk, tmp_path / "disk")
    _only(tmp_path, "disk", ".disk.ingot-journal")
    number = (tmp_path / "disk").stat().st_ino
    imported = _import(disk, tmp_path / "disk")
    assert (imported.size, imported.fetched) == (disk.stat().st_size, 0)
    assert (tmp_path / "disk").stat().st_ino == number
    _only(tmp_path, "disk")
