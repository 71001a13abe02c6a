"""Disks with files on them as a Linux has them, made by mke2fs, for tests of what their boot reads."""

from __future__ import annotations

import random
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ingot.images.qcow2.layout import CLUSTER

SIZE = 24 << 20
START = 1 << 20
_BLOCK = 1024
_LINUX = bytes.fromhex("af3dc60f838472478e793d69d8477de4")


def noise(seed: str, size: int = 3 * CLUSTER) -> bytes:
    return random.Random(seed).randbytes(size)  # noqa: S311 - it need not be secret


def make_tree(root: Path, files: Mapping[str, bytes], links: Mapping[str, str] | None = None) -> Path:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    for name, target in (links or {}).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(target)
    return root


def make_filesystem(disk: Path, root: Path, *options: str, start: int = 0, size: int = SIZE) -> Path:
    """Puts the tree into a filesystem that begins at `start` of a disk of that size."""
    with disk.open("wb") as file:
        file.truncate(size)
    kind = options or ("-t", "ext4")
    where = ["-E", f"offset={start},root_owner=0:0"] if start else ["-E", "root_owner=0:0"]
    command = ["mke2fs", "-q", "-F", *kind, "-d", str(root), *where, str(disk), f"{(size - start) >> 10}k"]
    subprocess.run(command, check=True, capture_output=True)
    return disk


def put_mbr(disk: Path, kind: int = 0x83, start: int = START) -> None:
    entry = struct.pack("<B3sB3sII", 0x80, b"\xfe" * 3, kind, b"\xfe" * 3, start >> 9, (SIZE - start) >> 9)
    with disk.open("r+b") as file:
        file.seek(446)
        file.write(entry + bytes(48) + b"\x55\xaa")


def put_gpt(disk: Path) -> None:
    put_mbr(disk, 0xEE, 512)
    header = struct.pack("<8sIIIIQQQQ16sQIII", b"EFI PART", 1 << 16, 92, 0, 0, 1, 0, 34, 0, bytes(16), 2, 128, 128, 0)
    entry = _LINUX + bytes(15) + b"\1" + struct.pack("<QQ", START >> 9, (SIZE >> 9) - 34)
    with disk.open("r+b") as file:
        file.seek(512)
        file.write(header)
        file.seek(1024)
        file.write(entry)


def clusters_of(disk: Path, data: bytes) -> list[int]:
    """Where a file is on the disk: its tables may lie within it."""
    raw = disk.read_bytes()
    places: list[int] = []
    for at in range(0, len(data), _BLOCK):
        block = data[at : at + _BLOCK]
        after = raw.find(block, places[-1] if places else 0)
        places.append(after if after >= 0 else raw.index(block))
    return list(dict.fromkeys(place // CLUSTER for place in places))
