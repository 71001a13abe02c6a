"""Damages a disk with a Linux on it: what is foretold of its boot is some of its clusters, or nothing."""

import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

from images.linux_disks import make_filesystem, make_tree
from ingot.images.boot.order import boot_order
from ingot.images.content import Extent
from ingot.images.fault import ImageFault
from ingot.images.qcow2.layout import CLUSTER

_KINDS = (("-t", "ext4", "-O", "^has_journal"), ("-t", "ext2", "-b", "1024"))
_SIZE = 2 << 20
_UNIT = b"[Unit]\nWants=basic.target\n[Service]\nExecStart=-/usr/bin/start --now\n"
_FILES = {
    "boot/vmlinuz-6.1": bytes(range(256)) * 300,
    "boot/initrd.img-6.1": bytes(range(255, -1, -1)) * 500,
    "sbin/init": b"#!/bin/sh\n",
    "usr/lib/systemd/system/default.target": _UNIT,
    "usr/bin/start": Path("/bin/true").read_bytes(),
}


def _disks() -> list[bytes]:
    with tempfile.TemporaryDirectory(prefix="ingot-fuzz-") as home:
        root = make_tree(Path(home) / "root", _FILES, {"bin": "usr/bin"})
        made = [
            make_filesystem(Path(home) / f"{number}", root, *kind, size=_SIZE) for number, kind in enumerate(_KINDS)
        ]
        return [disk.read_bytes() for disk in made]


_DISKS = _disks()


class _Damaged:
    """A disk with patches: four bytes of place, one of length, and what is there instead."""

    def __init__(self, whole: bytes, patches: bytes) -> None:
        self._data = bytearray(whole)
        while len(patches) > 5:
            place, length = struct.unpack_from("<IB", patches)
            new = patches[5 : 5 + length]
            self._data[place % _SIZE : place % _SIZE + len(new)] = new
            patches = patches[5 + length :]

    @property
    def size(self) -> int:
        return len(self._data)

    def readinto(self, start: int, buffer: memoryview) -> None:
        if start + len(buffer) > self.size:
            raise ImageFault("disk", "Truncated", "beyond its end")
        buffer[:] = self._data[start : start + len(buffer)]

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        yield Extent(start, end - start, True, start)

    def close(self) -> None:
        pass


def one_input(data: bytes) -> None:
    if not data:
        return
    disk = _Damaged(_DISKS[data[0] % len(_DISKS)], data[1:])
    order = boot_order(disk)
    assert len(order) == len(set(order))
    assert all(0 <= cluster <= disk.size // CLUSTER for cluster in order)


for _disk in _DISKS:
    assert len(boot_order(_Damaged(_disk, b""))) > 3
