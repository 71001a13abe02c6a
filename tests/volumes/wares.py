"""What the tests import: small disks in every wrapping, made once, and the bytes that must come out."""

from __future__ import annotations

import gzip
import hashlib
import random
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20
SIZE = 16 * MIB
# What takes some seconds to fetch at this rate.
SLOW_SIZE, SLOW_RATE = 48 * MIB, 12 * MIB


def sparse_bytes(size: int, seed: int) -> bytes:
    """A disk with data here and there, and holes between."""
    dice = random.Random(seed)  # noqa: S311 - the same bytes every time
    made = bytearray(size)
    for place in range(0, size, 2 * MIB):
        made[place : place + MIB // 2] = dice.randbytes(MIB // 2)
    return bytes(made)


@dataclass(frozen=True, slots=True)
class Wares:
    """Files of a directory that servers show: `disk` is in all of them but `slow`, which has no holes."""

    directory: Path
    disk: bytes
    slow: bytes

    @classmethod
    def make(cls, directory: Path) -> Wares:
        disk, slow = sparse_bytes(SIZE, 1), random.Random(2).randbytes(SLOW_SIZE)  # noqa: S311 - as above
        raw = directory / "disk.raw"
        raw.write_bytes(disk)
        (directory / "slow.raw").write_bytes(slow)
        convert = ["qemu-img", "convert", "-O", "qcow2", str(raw), str(directory / "disk.qcow2")]
        subprocess.run(convert, check=True)
        # As the examples name it.
        (directory / "debian-12.qcow2").hardlink_to(directory / "disk.qcow2")
        (directory / "disk.raw.gz").write_bytes(gzip.compress(disk, 1))
        (directory / "small.raw").write_bytes(disk[:MIB])
        _write_bad(directory)
        _write_archive(directory)
        return cls(directory, disk, slow)

    @property
    def digest(self) -> str:
        """Of the raw file."""
        return f"sha256:{hashlib.sha256(self.disk).hexdigest()}"


def _write_bad(directory: Path) -> None:
    """A qcow2 that would make whoever opens it read another file."""
    command = ["qemu-img", "create", "-q", "-f", "qcow2", "-u", "-b", "/etc/passwd", "-F", "raw"]
    subprocess.run([*command, str(directory / "bad.qcow2"), "1M"], check=True)


def _write_archive(directory: Path) -> None:
    tree = directory / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "one.txt").write_text("one\n")
    (tree / "sub" / "two.txt").write_text("two\n")
    with tarfile.open(directory / "files.tar", "w") as made:
        for each in sorted(tree.iterdir()):
            made.add(each, arcname=each.name)
