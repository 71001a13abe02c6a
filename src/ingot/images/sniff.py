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
PAGE = "html"
_PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html)", re.IGNORECASE)


def sniff(head: bytes | memoryview) -> str:
    """gzip, zstd, xz, lz4 or tar for what holds another file; qcow2, vmdk, vhdx, vhd, vdi or iso; html for a web
    page; raw for all else.

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
    return PAGE if _PAGE.match(head) else "raw"


def page_fault(subject: str) -> ImageFault:
    """For a web page where a disk should be."""
    cure = "give the image of the disk itself, such as a raw or qcow2 one"
    if "://" in subject:
        cure = "give the address of the file itself, and what it takes to log in"
    return ImageFault(subject, "BadFormat", f"it is a web page (HTML) and no disk: {cure}")
