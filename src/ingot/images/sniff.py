"""What a file is, by its first bytes."""

import re

from ingot.images.codec.choice import sniff as sniff_codec
from ingot.images.fault import ImageFault
from ingot.images.tar_header import BLOCK, is_header

# How many bytes it takes to know: an ISO 9660 says what it is behind its first 32 KiB.
HEAD = (32 << 10) + 6
_MAGIC = (
    (0, b"QFI\xfb", "qcow2"),
    (0, b"KDMV", "vmdk"),
    (0, b"COWD", "vmdk"),
    (0, b"# Disk DescriptorFile", "vmdk"),
    (0, b"vhdxfile", "vhdx"),
    (0, b"conectix", "vhd"),
    (0x40, b"\x7f\x10\xda\xbe", "vdi"),
    (0x8001, b"CD001", "iso"),
)
# What a server sends in place of a file: a page to log in, or one that says that there is none.
_PAGE = "html"
# What is known, and is no disk. A boot sector could begin with a few letters of a magic, so that more is looked at.
_OTHERS = {
    _PAGE: re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html)", re.IGNORECASE),
    "bzip2": re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"),
    "zip": re.compile(rb"PK\x03\x04"),
    "7z": re.compile(rb"7z\xbc\xaf\x27\x1c"),
    "rar": re.compile(rb"Rar!\x1a\x07"),
    # Its dictionary has a size of whole 64 KiB, and what is in it one that is unknown, or no larger than any disk.
    "lzma": re.compile(rb"\x5d\0\0(?!\0\0)..(?:\xff{8}|.{6}\0\0)", re.DOTALL),
}
NO_DISKS = tuple(_OTHERS)


def sniff(head: bytes | memoryview) -> str:
    """gzip, zstd, xz, lz4 or tar for what holds another file; qcow2, vmdk, vhdx, vhd, vdi or iso; one of NO_DISKS;
    raw for all else.

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
    return next((name for name, magic in _OTHERS.items() if magic.match(head)), "raw")


def refuse(format: str, subject: str) -> None:
    """Raises ImageFault for one of NO_DISKS."""
    if format not in NO_DISKS:
        return
    if format != _PAGE:
        cure = "give the disk itself, or packed with gzip, zstd, xz, lz4 or tar"
        raise ImageFault(subject, "BadFormat", f"it is packed with {format}, which nobody unpacks here: {cure}")
    cure = "give the image of the disk itself, such as a raw or qcow2 one"
    if "://" in subject:
        cure = "give the address of the file itself, and what it takes to log in"
    raise ImageFault(subject, "BadFormat", f"it is a web page (HTML) and no disk: {cure}")
