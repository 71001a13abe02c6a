"""Feeds archives to the tar reader, whole and in pieces with its state written down between them."""

import contextlib

from ingot.images.fault import ImageFault
from ingot.images.tar import TarReader
from ingot.images.tar_header import BLOCK, BadTar, is_header, parse, parse_pax

_LIMIT = 1 << 30


def one_input(data: bytes) -> None:
    with contextlib.suppress(BadTar):
        parse_pax(data)
    for block in (data[:BLOCK].ljust(BLOCK, b"\0"), mended(data[:BLOCK])):
        is_header(block)
        with contextlib.suppress(BadTar):
            parse(block)
    archive = b"".join(mended(data[start : start + BLOCK]) for start in range(0, len(data), BLOCK))
    for whole in (data, archive):
        assert _read(whole, len(whole) or 1) == _read(whole, 97)


def mended(block: bytes) -> bytes:
    """The block with the right checksum, which no fuzzer would find."""
    header = bytearray(block.ljust(BLOCK, b"\0"))
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)


def _read(data: bytes, size: int) -> tuple[bytes, str]:
    """The disk, and why there is none."""
    reader = TarReader("fuzz", _LIMIT)
    out = b""
    try:
        for start in range(0, len(data), size):
            for piece in reader.feed(memoryview(data)[start : start + size]):
                out += piece
            reader = TarReader.from_state(reader.state(), "fuzz", _LIMIT)
        reader.finish()
    except ImageFault as fault:
        return out, fault.message
    assert reader.member is not None
    assert reader.member.size == len(out) <= _LIMIT
    return out, ""
