"""The right decompressor for a stream."""

from collections.abc import Callable

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
    # Loaded where they are needed: their libraries take time.
    from ingot.images.codec.frames import lz4_frames, xz_streams, zstd_frames
    from ingot.images.codec.gzip import Gzip
    from ingot.images.codec.plain import Plain

    codecs: dict[str, Callable[[str], Decompressor]] = {
        "gzip": Gzip,
        "zstd": zstd_frames,
        "xz": xz_streams,
        "lz4": lz4_frames,
        "none": Plain,
    }
    try:
        make = codecs[name]
    except KeyError:
        message = f"it is compressed with {name}; gzip, zstd, xz, lz4 or none would do"
        raise ImageFault(subject, "Unsupported", message) from None
    return make(subject)
