"""Feeds gzip streams to ISA-L: what zlib takes comes out the same, however it is cut; the rest is a fault."""

import random
import zlib

from ingot.images.codec.decompressor import PIECE
from ingot.images.codec.gzip import Gzip
from ingot.images.fault import ImageFault

_HEADER = b"\x1f\x8b\x08\x00" + bytes(6)
# More is not looked at: a bomb takes its time.
_MOST = 4 << 20


def one_input(data: bytes) -> None:
    for packed in (data, _HEADER + data, _sealed(data), _sealed(_bent(data))):
        whole = _inflate(packed, len(packed) or 1)
        assert whole == _inflate(packed, 61)
        expected = _zlib(packed)
        assert expected is None or whole is None or whole == expected
        assert expected is None or whole is not None


def _bent(data: bytes) -> bytes:
    """Raw deflate with codes of its own, as a fuzzer does not find them, of which some bytes are others."""
    source = random.Random(data)  # noqa: S311 - the same for the same input
    words = [source.randbytes(source.randrange(1, 30)) for _ in range(40)]
    compressor = zlib.compressobj(source.randrange(1, 10), zlib.DEFLATED, -15, 9, source.randrange(5))
    packed = bytearray(compressor.compress(b"".join(source.choices(words, k=2000))) + compressor.flush())
    for _ in range(source.randrange(4)):
        packed[source.randrange(len(packed)) % source.choice((100, len(packed)))] ^= 1 << source.randrange(8)
    return bytes(packed)


def _sealed(data: bytes) -> bytes:
    """The data as raw deflate, with the right checksum behind it if it is."""
    inflater = zlib.decompressobj(-15)
    try:
        content = inflater.decompress(data, _MOST)
    except zlib.error:
        return _HEADER + data
    body = data[: len(data) - len(inflater.unused_data)]
    return _HEADER + body + zlib.crc32(content).to_bytes(4, "little") + len(content).to_bytes(4, "little")


def _inflate(packed: bytes, size: int) -> bytes | None:
    """The content, from a checkpoint between every two pieces on; None where it is refused."""
    codec = Gzip("fuzz")
    out = b""
    try:
        for start in range(0, len(packed), size):
            for piece in codec.decompress(memoryview(packed)[start : start + size]):
                assert 0 < len(piece) <= PIECE
                out += piece
                if len(out) > _MOST:
                    return None
            if size < len(packed) < 10 * size:
                kept, codec = codec.checkpoint(), Gzip("fuzz")
                codec.resume(kept)
        codec.finish()
    except ImageFault:
        return None
    assert codec.position == len(packed)
    return out


def _zlib(packed: bytes) -> bytes | None:
    """What zlib makes of one member and nothing else; None where it refuses it."""
    inflater = zlib.decompressobj(31)
    try:
        out = inflater.decompress(packed, _MOST)
    except zlib.error:
        return None
    complete = inflater.eof and not inflater.unused_data
    return out if complete and len(out) < _MOST else None
