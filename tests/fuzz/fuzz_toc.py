"""Feeds tables of contents of zstd:chunked layers, and chunks, to the readers: nothing but ImageFault comes out."""

import json
import struct

from ingot.images.chunk import Chunk
from ingot.images.fault import ImageFault
from ingot.images.zstd_chunked.position import CHECKSUM, FOOTER_SIZE, POSITION, Position
from ingot.images.zstd_chunked.remote import open_chunk
from ingot.images.zstd_chunked.toc import inflate, parse_toc

_END = 1 << 15
_DIGEST = f"sha256:{'0' * 64}"


def one_input(data: bytes) -> None:
    for read in (_table, _built, _packed, _footer, _annotation, _chunk):
        try:
            read(data)
        except ImageFault:
            continue


def _built(data: bytes) -> None:
    """A table whose numbers are the input's: a file, and an entry for every eight bytes."""
    numbers = struct.iter_unpack("<HHHBB", data[: len(data) // 8 * 8])
    entries = [
        {
            "type": ("reg", "chunk", "chunk", "dir")[kind & 3] if place else "reg",
            "name": "disk/a" if kind < 240 else f"disk/{kind}",
            "size": size,
            "offset": offset,
            "endOffset": offset + shape,
            "chunkSize": size,
            "chunkOffset": chunk,
            "chunkDigest": _DIGEST,
            "digest": _DIGEST,
            "chunkType": "zeros" if shape > 200 else "",
        }
        for place, (size, offset, chunk, kind, shape) in enumerate(numbers)
    ]
    _table(json.dumps({"version": 1, "entries": entries}).encode())


def _table(data: bytes) -> None:
    toc = parse_toc("fuzz", data, _END)
    for name, entry in toc.members.items():
        if entry.type == "reg":
            pieces = toc.pieces(name)
            assert pieces.size == entry.size
            assert all(0 <= chunk.start < chunk.end <= _END for chunk in pieces.chunks())


def _packed(data: bytes) -> None:
    assert len(inflate("fuzz", bytearray(data), 1000)) == 1000


def _footer(data: bytes) -> None:
    position = Position.from_footer("fuzz", data[-FOOTER_SIZE:], _END)
    assert position.start + position.length <= _END


def _annotation(data: bytes) -> None:
    annotations = {CHECKSUM: _DIGEST, POSITION: data.decode("utf-8", "replace")}
    position, _ = Position.from_annotations("fuzz", annotations, _END)
    assert position.start + position.length <= _END


def _chunk(data: bytes) -> None:
    open_chunk("fuzz", Chunk(bytes(32), 1000, 0, len(data)), data)
