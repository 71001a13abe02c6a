"""What a file is, by its first bytes."""

import gzip
import io
import lzma
import subprocess
import tarfile
from pathlib import Path

import lz4.frame
import pytest
from backports import zstd

from ingot.images.sniff import HEAD, sniff


@pytest.mark.parametrize("format", ["qcow2", "vmdk", "vdi", "vhdx", "vpc", "raw"])
def test_what_qemu_makes_is_known(format: str, tmp_path: Path) -> None:
    path = tmp_path / "disk"
    subprocess.run(["qemu-img", "create", "-q", "-f", format, str(path), "1M"], check=True)
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
