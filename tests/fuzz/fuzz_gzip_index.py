"""Damages an index, its table with the right seal too: reads give the right bytes or a fault."""

import gzip
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ingot.images.blob import FileBlob
from ingot.images.content import read
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.gzip_index import Index, IndexBuilder
from ingot.images.indexed_blob import IndexedBlob
from ingot.images.seal import seal
from ingot.images.stream import open_stream

_KIND, _SEAL, _END = b"ingindx1", 40, 24


def _content() -> bytes:
    return random.Random(5).randbytes(1 << 20) + bytes(1 << 20) + b"some words " * 100_000  # noqa: S311


class _World:
    """A layer with its index, made once."""

    def __init__(self) -> None:
        self._home = tempfile.TemporaryDirectory(prefix="ingot-fuzz-")
        self.path = Path(self._home.name) / "index"
        self.content = _content()
        packed = gzip.compress(self.content, 1)
        (self.path.parent / "blob").write_bytes(packed)
        self.blob = FileBlob(self.path.parent / "blob")
        self.digest = Digest.of(packed)
        with (
            IndexBuilder(self.path, self.digest, len(packed)) as builder,
            open_stream(self.blob, index=builder) as stream,
        ):
            for _ in stream:
                pass
        self.good = self.path.read_bytes()


_WORLD = _World()


def one_input(data: bytes) -> None:
    good = _WORLD.good
    start = int.from_bytes(good[-16:-8], "little")
    place = int.from_bytes(data[:3], "little") % len(good)
    table = bytearray(good[start + _SEAL : -_END])
    spot = place % len(table)
    table[spot : spot + len(data[3:])] = data[3:]
    resealed = seal(_KIND, table)
    end = b"ingindxE" + start.to_bytes(8, "little") + len(resealed).to_bytes(8, "little")
    for got, expected in _reads(good[:place] + data[3:] + good[place + len(data[3:]) :]):
        assert got == expected
    # With a seal of its own a table may say what it likes, if nothing breaks.
    list(_reads(good[:start] + resealed + end))


def _reads(damaged: bytes) -> Iterator[tuple[bytearray, bytes]]:
    """What is read through the index, and what should be."""
    _WORLD.path.write_bytes(damaged)
    try:
        with Index(_WORLD.path, _WORLD.digest) as index:
            content = IndexedBlob(_WORLD.blob, index)
            for span in index.spans[:4]:
                got = read(content, span.start, min(1000, content.size - span.start))
                yield got, _WORLD.content[span.start : span.start + 1000]
            list(content.extents(0, content.size))
    except ImageFault:
        return
