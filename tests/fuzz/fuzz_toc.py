"""Feeds tables of contents of zstd:chunked layers, and chunks, to the readers: nothing but ImageFault comes out."""

import sys

import atheris

with atheris.instrument_imports():
    from ingot.images.chunk import Chunk
    from ingot.images.fault import ImageFault
    from ingot.images.zstd_chunked.position import FOOTER_SIZE, POSITION, Position
    from ingot.images.zstd_chunked.remote import open_chunk
    from ingot.images.zstd_chunked.toc import inflate, parse_toc

_END = 1 << 20


def one_input(data: bytes) -> None:
    for read in (_table, _packed, _footer, _annotation, _chunk):
        try:
            read(data)
        except ImageFault:
            continue


def _table(data: bytes) -> None:
    toc = parse_toc("fuzz", data, _END)
    for name, entry in toc.members.items():
        if entry.type == "reg":
            pieces = toc.pieces(name)
            assert pieces.size == entry.size
            assert all(0 <= chunk.start < chunk.end <= _END for chunk in pieces.chunks())


def _packed(data: bytes) -> None:
    assert len(inflate("fuzz", data, 1000)) == 1000


def _footer(data: bytes) -> None:
    position = Position.from_footer("fuzz", data[-FOOTER_SIZE:], _END)
    assert position.start + position.length <= _END


def _annotation(data: bytes) -> None:
    checksum = {"io.github.containers.zstd-chunked.manifest-checksum": f"sha256:{'0' * 64}"}
    position, _ = Position.from_annotations("fuzz", checksum | {POSITION: data.decode("utf-8", "replace")}, _END)
    assert position.start + position.length <= _END


def _chunk(data: bytes) -> None:
    open_chunk("fuzz", Chunk(bytes(32), 1000, 0, len(data)), data)


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
