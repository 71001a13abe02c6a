"""What a file is, by its first bytes."""

import bz2
import gzip
import io
import lzma
import subprocess
import tarfile
import zipfile
from pathlib import Path

import lz4.frame
import pytest
from backports import zstd

from ingot.images.disk import open_disk
from ingot.images.fault import ImageFault
from ingot.images.pipeline.importer import import_image
from ingot.images.pipeline.options import ImportOptions
from ingot.images.pipeline.source import Source
from ingot.images.sniff import HEAD, sniff


@pytest.mark.parametrize("format", ["qcow2", "vmdk", "vdi", "vhdx", "vhd", "raw"])
def test_what_qemu_makes_is_known(format: str, tmp_path: Path) -> None:
    path = tmp_path / "disk"
    subprocess.run(["qemu-img", "create", "-q", "-f", {"vhd": "vpc"}.get(format, format), str(path), "1M"], check=True)
    with path.open("rb") as file:
        assert sniff(file.read(HEAD)) == format


def test_packed_files_and_discs_are_known() -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("disk/a"))
    assert sniff(file.getvalue()) == "tar"
    assert sniff(gzip.compress(b"")) == "gzip"
    assert sniff(zstd.compress(b"")) == "zstd"
    assert sniff(lzma.compress(b"")) == "xz"
    assert sniff(lz4.frame.compress(b"")) == "lz4"
    assert sniff(bytes(0x8001) + b"CD001") == "iso"
    assert sniff(b"# Disk DescriptorFile\nversion=1\n") == "vmdk"


@pytest.mark.parametrize("head", [b"", b"Q", b"QFI", bytes(HEAD), b"\x1f", b"conect", b"ustar" * 200])
def test_the_rest_is_raw(head: bytes) -> None:
    assert sniff(head) == "raw"


@pytest.mark.parametrize(
    "head",
    [
        b"<!DOCTYPE html>\n<title>Log in</title>",
        b"\r\n\t <!doctype HTML PUBLIC>",
        b"<html><body>404</body></html>",
        b"<HTML lang=en>",
        b"\xef\xbb\xbf<html>",
    ],
)
def test_web_pages_are_known_and_are_no_disks(head: bytes, tmp_path: Path) -> None:
    assert sniff(head) == "html"
    page = tmp_path / "disk.img"
    for packed in (head, gzip.compress(head)):
        page.write_bytes(packed)
        with pytest.raises(ImageFault, match=r"it is a web page \(HTML\) and no disk") as caught:
            import_image(Source.parse(str(page)), tmp_path / "target", ImportOptions(), lambda *_: None)
        assert (caught.value.reason, caught.value.retry) == ("BadFormat", False)
        assert not (tmp_path / "target").exists()


def _zip() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("disk.raw", bytes(4096))
    return file.getvalue()


@pytest.mark.parametrize(
    ("head", "format"),
    [
        (bz2.compress(bytes(4096)), "bzip2"),
        (bz2.compress(b""), "bzip2"),
        (_zip(), "zip"),
        (b"7z\xbc\xaf\x27\x1c\0\4", "7z"),
        (b"Rar!\x1a\x07\x01\0", "rar"),
        (b"Rar!\x1a\x07\0", "rar"),
        (lzma.compress(bytes(4096), lzma.FORMAT_ALONE), "lzma"),
        (b"\x5d\0\0\x80\0" + (20 << 30).to_bytes(8, "little") + b"\0data", "lzma"),
    ],
)
def test_packings_that_nobody_unpacks_are_no_disks(head: bytes, format: str, tmp_path: Path) -> None:
    assert sniff(head) == format
    packed = tmp_path / "disk.img"
    for content in (head, gzip.compress(head)):
        packed.write_bytes(content)
        with pytest.raises(ImageFault, match=f"packed with {format}, .* give the disk itself, or packed with gzip"):
            import_image(Source.parse(str(packed)), tmp_path / "target", ImportOptions(), lambda *_: None)
        assert not (tmp_path / "target").exists()
    packed.write_bytes(head)
    with pytest.raises(ImageFault, match=f"packed with {format}"):
        open_disk(packed)


@pytest.mark.parametrize(
    "head", [b"BZh91AY and more", b"PK\x03\x05", b"7zip", b"Rar!", b"\x5d" + bytes(40), b"\x5d\0\0\1\0" + b"boot" * 9]
)
def test_what_only_begins_like_a_packing_is_raw(head: bytes) -> None:
    assert sniff(head) == "raw"


@pytest.mark.parametrize("head", [b"<ht ml>", b"<!doctype svg>", b"text <html>", b"<" * 40, b" " * HEAD])
def test_what_only_looks_like_a_page_is_raw(head: bytes) -> None:
    assert sniff(head) == "raw"
