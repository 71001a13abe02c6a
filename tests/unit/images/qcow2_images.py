"""qcow2 images made by QEMU's tools, for tests of their readers."""

import random
import struct
import subprocess
from pathlib import Path

from ingot.images.content import FileContent, read
from ingot.images.qcow2.reader import Qcow2
from ingot.images.qcow2.stream import Qcow2Stream

HEADER = struct.Struct(">4sIQIIQIIQQIIQ")
COMPRESSED = 1 << 62


def create(path: Path, size: int, cluster: int = 1 << 16, version: int = 3, options: str = "") -> Path:
    given = f"cluster_size={cluster},compat={'0.10' if version == 2 else '1.1'}{options and ','}{options}"
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", "-o", given, path, str(size)], check=True)
    return path


def write(path: Path, *commands: str) -> Path:
    """Runs commands of qemu-io. It refuses a compressed write where something is already."""
    arguments = [word for command in commands for word in ("-c", command)]
    subprocess.run(["qemu-io", "-f", "qcow2", *arguments, path], check=False, capture_output=True)
    return path


def snapshot(path: Path) -> Path:
    subprocess.run(["qemu-img", "snapshot", "-c", "then", path], check=True)
    return path


def noise(path: Path, size: int, seed: int = 7) -> Path:
    """A file of words that compress to about a half."""
    chooser = random.Random(seed)  # noqa: S311 - it need not be secret
    words = [chooser.randbytes(chooser.randint(2, 9)) for _ in range(64)]
    pages = [b"".join(chooser.choices(words, k=80))[:160] for _ in range(64)]
    path.write_bytes(b"".join(chooser.choices(pages, k=size // 128 + 1))[:size])
    assert path.stat().st_size == size
    return path


def by_qemu(path: Path) -> bytes:
    """The disk as QEMU reads it."""
    raw = path.with_suffix(".by-qemu")
    subprocess.run(["qemu-img", "convert", "-f", "qcow2", "-O", "raw", path, raw], check=True)
    data = raw.read_bytes()
    raw.unlink()
    return data


def by_reader(path: Path, piece: int = 0) -> bytes:
    """The disk as our reader reads it, in pieces of that size; 0 for all at once."""
    disk = Qcow2(FileContent(path), str(path))
    try:
        step = piece or disk.size
        return b"".join(bytes(read(disk, at, min(step, disk.size - at))) for at in range(0, disk.size, step))
    finally:
        disk.close()


class Arriving:
    """A disk that a stream decodes, and the bytes it has written."""

    def __init__(self, spool: Path) -> None:
        self.disk = bytearray()
        self.spool = spool
        self.stream = Qcow2Stream(self.put, spool)

    def put(self, start: int, data: memoryview) -> None:
        if len(self.disk) < start + len(data):
            self.disk.extend(bytes(start + len(data) - len(self.disk)))
        self.disk[start : start + len(data)] = data

    def again(self) -> None:
        """As if the process had been killed."""
        state, position = self.stream.state(), self.stream.position
        self.stream.close()
        self.stream = Qcow2Stream.resume(state, self.put, self.spool)
        assert self.stream.position == position

    def finish(self) -> bytes:
        self.stream.finish()
        assert self.stream.size is not None
        assert len(self.disk) <= self.stream.size
        return bytes(self.disk.ljust(self.stream.size, b"\0"))


def by_stream(path: Path, piece: int = 0) -> bytes:
    """The disk as it arrives in pieces of that size; 0 for all at once."""
    data = path.read_bytes()
    arriving = Arriving(path.with_suffix(".spool"))
    try:
        for at in range(0, len(data), piece or len(data)):
            arriving.stream.feed(data[at : at + (piece or len(data))])
        return arriving.finish()
    finally:
        arriving.stream.close()


def fields(path: Path) -> tuple[int, int]:
    """Where the L1 table is, and where the first L2 table."""
    data = path.read_bytes()
    l1 = HEADER.unpack_from(data)[8]
    (l2,) = struct.unpack_from(">Q", data, l1)
    return l1, l2 & 0x00FF_FFFF_FFFF_FE00


def patch(path: Path, offset: int, form: str, *values: int) -> Path:
    """Writes big-endian numbers into the image."""
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(struct.pack(">" + form, *values))
    return path
