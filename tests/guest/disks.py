"""Disks with known content, made without mounting anything."""

from __future__ import annotations

import hashlib
import random
import subprocess
import tempfile
from pathlib import Path

MIB = 1 << 20
# The one file of a data disk.
FILE = "data"


def content(name: str, size: int = 64 * 1024) -> bytes:
    """Bytes that are always the same for one name, and others for another. They do not compress."""
    return random.Random(name).randbytes(size)  # noqa: S311 - nothing is kept secret by it


def md5(data: bytes) -> str:
    """As the guest's `digest` prints it."""
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def data_disk(path: Path, data: bytes, size: int = 8 * MIB) -> str:
    """Makes a raw disk with an ext4 that holds FILE; the MD5 of that file."""
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / FILE).write_bytes(data)
        with path.open("wb") as file:
            file.truncate(size)
        subprocess.run(["mke2fs", "-q", "-F", "-t", "ext4", "-d", scratch, path], check=True, capture_output=True)
    return md5(data)


def cdrom(path: Path, data: bytes, label: str) -> str:
    """Makes an ISO 9660 image that holds FILE, and has a label for the guest to find it by; the MD5 of that file."""
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / FILE).write_bytes(data)
        command = ["xorriso", "-as", "mkisofs", "-quiet", "-r", "-V", label, "-o", str(path), scratch]
        subprocess.run(command, check=True, capture_output=True)
    return md5(data)


def qcow2(raw: Path, path: Path) -> None:
    """Makes a qcow2 with the content of a raw disk."""
    subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw, path], check=True, capture_output=True)


def file_on(disk: Path, name: str = FILE) -> bytes:
    """The content of a file on the ext4 of a raw disk that nobody has open."""
    # The guest may have left entries in the journal, which the reader does not look at.
    subprocess.run(["e2fsck", "-fy", disk], check=False, capture_output=True)
    answer = subprocess.run(["debugfs", "-R", f"cat /{name}", disk], check=True, capture_output=True)
    return answer.stdout
