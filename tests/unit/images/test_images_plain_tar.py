"""A disk in an archive that is no layer: the one file in it, whatever its name."""

import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from ingot.images.fault import ImageFault
from ingot.images.pipeline.importer import import_image
from ingot.images.pipeline.options import ImportOptions
from ingot.images.pipeline.source import Source
from ingot.images.unpacking import Unpacking

DISK = bytes(range(256)) * 40


def archive(*names: str) -> bytes:
    """A directory for a name that ends with a slash, else a disk."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name in names:
            info = tarfile.TarInfo(name.rstrip("/"))
            info.type = tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
            info.size = 0 if name.endswith("/") else len(DISK)
            tar.addfile(info, io.BytesIO(DISK))
    return file.getvalue()


def unpacked(data: bytes, size: int = 1000, layer: bool = False) -> bytes:
    """Taken up anew from its state after each piece."""
    out, state = b"", None
    for start in range(0, len(data), size):
        unpacking = Unpacking("tar", 1 << 20, layer)
        if state is not None:
            unpacking.resume(state)
        out += b"".join(unpacking.feed(memoryview(data)[start : start + size]))
        state = unpacking.state()
    return out + b"".join(unpacking.finish())


@pytest.mark.parametrize(
    "names",
    [
        ("big.raw",),
        ("./", "./fs.qcow2"),
        ("a/", "a/b/", "a/b/disk.img"),
        ("disk/deep/er.img",),
        ("disk/disk.img", "etc/passwd"),
    ],
)
def test_the_one_file(names: tuple[str, ...]) -> None:
    assert unpacked(archive(*names)) == DISK


@pytest.mark.parametrize("names", [("a.img", "b.img"), ("a.img", "disk/disk.img"), ("disk/a", "disk/b")])
def test_two_files(names: tuple[str, str]) -> None:
    with pytest.raises(ImageFault, match=f"two disks, {names[0]} and {names[1]}"):
        unpacked(archive(*names))


def test_no_file() -> None:
    with pytest.raises(ImageFault, match="it has no regular file in it"):
        unpacked(archive("disk/"))


def test_a_layer_has_its_disk_in_disk() -> None:
    with pytest.raises(ImageFault, match="no regular file in disk/"):
        unpacked(archive("big.raw"), layer=True)


@pytest.mark.parametrize("compression", ["", "z"])
def test_an_import_of_an_archive_with_a_qcow2(tmp_path: Path, compression: str) -> None:
    raw, disk = tmp_path / "disk.raw", tmp_path / "fs.qcow2"
    raw.write_bytes(DISK * 100)
    subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw, disk], check=True)
    subprocess.run(["tar", f"-c{compression}f", tmp_path / "disk.tar", "-C", tmp_path, disk.name], check=True)
    source = Source.parse(str(tmp_path / "disk.tar"))
    import_image(source, tmp_path / "out.img", ImportOptions(), lambda done, whole: None)
    assert (tmp_path / "out.img").read_bytes() == raw.read_bytes()
