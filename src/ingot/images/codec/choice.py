"""The right decompressor for a stream."""

from ingot.images.codec.decompressor import Decompressor
from ingot.images.fault import ImageFault

# How many bytes `sniff` wants to see.
HEAD = 6
_MAGIC = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"\xfd7zXZ\x00", "xz"), (b"\x04\x22\x4d\x18", "lz4"))


def sniff(head: bytes | memoryview) -> str:
    """How a stream is compressed, by its first HEAD bytes: gzip, zstd, xz, lz4 or none."""
    begun = bytes(head[:HEAD])
    for magic, name in _MAGIC:
        if begun.startswith(magic):
            return name
    # A skippable frame, which zstd and lz4 share; zstd:chunked layers may begin with one.
    if len(begun) >= 4 and 0x184D2A50 <= int.from_bytes(begun[:4], "little") <= 0x184D2A5F:
        return "zstd"
    return "none"


def decompressor(name: str, subject: str) -> Decompressor:
    """A decompressor for one of the names that `sniff` gives. Raises ImageFault for others."""
    # Each is loaded where it is needed: their libraries take time.
    match name:
        case "gzip":
            from ingot.images.codec.gzip import Gzip

            return Gzip(subject)
        case "zstd" | "xz" | "lz4":
            from ingot.images.codec.frames import frames

            return frames(name, subject)
        case "none":
            from ingot.images.codec.plain import Plain

            return Plain(subject)
        case _:
            message = f"it is compressed with {name}; gzip, zstd, xz, lz4 or none would do"
            raise ImageFault(subject, "Unsupported", message)
