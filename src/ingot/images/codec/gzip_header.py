"""Headers of gzip members. ISA-L 2.30 loses its place in one that comes in several pieces."""

import zlib

# Extra fields may have 64 KiB; nobody has names or comments of the same size.
MOST_HEADER = 128 << 10
_FIXED = 10
_HEADER_CRC, _EXTRA, _NAME, _COMMENT, _RESERVED = 0x02, 0x04, 0x08, 0x10, 0xE0


class BadHeader(ValueError):
    """Not the header of a gzip member: the message says why."""


def header_length(begun: bytes | bytearray) -> int | None:
    """How long the header is that these bytes begin with; None when it goes on behind them. Raises BadHeader."""
    if begun[:3] != b"\x1f\x8b\x08"[: len(begun)]:
        raise BadHeader("no gzip header where one should be")
    if len(begun) < _FIXED:
        return None
    flags = begun[3]
    if flags & _RESERVED:
        raise BadHeader("a gzip header with unknown flags")
    end: int | None = _FIXED
    if flags & _EXTRA:
        end = _FIXED + 2 + int.from_bytes(begun[_FIXED : _FIXED + 2], "little") if len(begun) >= _FIXED + 2 else None
    for flag in (_NAME, _COMMENT):
        if flags & flag and end is not None:
            end = begun.find(b"\0", end) + 1 or None
    if flags & _HEADER_CRC and end is not None:
        end += 2
        if end <= len(begun) and zlib.crc32(begun[: end - 2]) & 0xFFFF != int.from_bytes(
            begun[end - 2 : end], "little"
        ):
            raise BadHeader("a gzip header whose checksum does not fit")
    if end is not None and end <= len(begun):
        return end
    if len(begun) >= MOST_HEADER:
        raise BadHeader(f"a gzip header of more than {MOST_HEADER} bytes")
    return None
