"""What a file is, by its first bytes."""

from ingot.images.codec.choice import sniff as sniff_codec
from ingot.images.tar_header import BLOCK, is_header

# How many bytes it takes to know: an ISO 9660 says what it is behind its first 32 KiB.
HEAD = (32 << 10) + 6
_MAGIC = (
    (0, b"QFI\xfb", "qcow2"),
    (0, b"KDMV", "vmdk"),
    (0, b"COWD", "vmdk"),
    (0, b"# Disk DescriptorFile", "vmdk"),
    (0, b"vhdxfile", "vhdx"),
    (0, b"conectix", "vpc"),
    (0x40, b"\x7f\x10\xda\xbe", "vdi"),
    (0x8001, b"CD001", "iso"),
)


def sniff(head: bytes | memoryview) -> str:
    """gzip, zstd, xz, lz4 or tar for what holds another file; qcow2, vmdk, vhdx, vpc, vdi or iso; raw for all else.

    `head` is the first HEAD bytes, or all that there are. A VHD of fixed size is raw with a footer, and cannot be
    told from raw by its front.
    """
    codec = sniff_codec(head)
    if codec != "none":
        return codec
    if is_header(bytes(head[:BLOCK])):
        return "tar"
    for place, magic, name in _MAGIC:
        if head[place : place + len(magic)] == magic:
            return name
    return "raw"
