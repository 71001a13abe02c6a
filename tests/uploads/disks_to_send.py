"""Disks that are uploaded, in the forms that people have them in."""

from __future__ import annotations

import gzip
import lzma
import random
import subprocess
from pathlib import Path

MIB = 1 << 20


def a_disk(path: Path, size: int = 48 * MIB, data: int = 16 * MIB, seed: int = 1) -> bytes:
    """A raw disk with data at its start, a hole, and data at its end; its bytes."""
    chance = random.Random(seed)  # noqa: S311, for content that a seed tells
    content = bytearray(size)
    half = data // 2
    content[:half] = chance.randbytes(half)
    content[-half:] = chance.randbytes(half)
    path.write_bytes(content)
    return bytes(content)


def as_qcow2(raw: Path) -> Path:
    path = raw.with_suffix(".qcow2")
    subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw, path], check=True)
    return path


def as_gzip(raw: Path) -> Path:
    path = raw.with_name(f"{raw.name}.gz")
    path.write_bytes(gzip.compress(raw.read_bytes(), 1))
    return path


def as_xz(raw: Path) -> Path:
    path = raw.with_name(f"{raw.name}.xz")
    path.write_bytes(lzma.compress(raw.read_bytes(), preset=0))
    return path
