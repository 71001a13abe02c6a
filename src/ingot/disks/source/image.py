"""Raw disk images in files: opened without following links, and known from other formats by their first bytes."""

import os
import stat
from pathlib import Path

from ingot.disks.fault import DiskFault
from ingot.disks.source.refusal import refusal
from ingot.host.descriptor import Descriptor

_MAGICS = (
    (0, b"QFI\xfb", "qcow2"),
    (0, b"QED\0", "QED"),
    (0, b"KDMV", "VMDK"),
    (0, b"COWD", "VMDK"),
    (0, b"# Disk DescriptorFile", "VMDK"),
    (0, b"vhdxfile", "VHDX"),
    (0, b"conectix", "VHD"),
    (0, b"WithoutFreeSpace", "Parallels"),
    (0, b"WithouFreSpacExt", "Parallels"),
    (0, b"Bochs Virtual HD Image", "Bochs"),
    (64, b"\x7f\x10\xda\xbe", "VDI"),
    (64, b"\xbe\xda\x10\x7f", "VDI"),
)
_HEAD = 512


def format_of(head: bytes) -> str:
    """The image format that the first bytes of a file tell; "" for a raw disk."""
    return next((name for offset, magic, name in _MAGICS if head[offset : offset + len(magic)] == magic), "")


def open_raw(volume: str, path: Path, subject: str, missing: str, directory: int | None = None) -> Descriptor:
    """Opens a file for reading that is a raw disk image.

    `path` is relative to the open `directory` when that is given; links are not followed, so that nothing in a volume
    leads out of it. `subject` and `missing` name the file and a file that is not there. Raises DiskFault.
    """
    try:
        opened = Descriptor.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, directory)
    except FileNotFoundError:
        raise refusal(volume, "DiskImageMissing", missing) from None
    except OSError as error:
        raise _unusable(volume, subject, _why_not_opened(path, directory, error)) from None
    found = os.fstat(opened.fileno())
    if not stat.S_ISREG(found.st_mode):
        raise _unusable(volume, subject, f"is {_kind(found.st_mode)}, not a file")
    if found.st_size == 0:
        raise _unusable(volume, subject, "is empty")
    if known := format_of(os.pread(opened.fileno(), _HEAD, 0)):
        cure = f"convert it with `qemu-img convert -f {known.lower()} -O raw`"
        raise _unusable(volume, subject, f"must be raw, and is a {known} image: {cure}")
    return opened


def _unusable(volume: str, subject: str, what: str) -> DiskFault:
    return refusal(volume, "BadImage", f"{subject} {what}")


def _why_not_opened(path: Path, directory: int | None, error: OSError) -> str:
    cannot = f"cannot be opened: {error.strerror}"
    try:
        mode = os.stat(path, dir_fd=directory, follow_symlinks=False).st_mode
    except OSError:
        # What stands in the way is above the file.
        return cannot
    return cannot if stat.S_ISREG(mode) else f"is {_kind(mode)}, not a file: put the image itself there"


def _kind(mode: int) -> str:
    kinds = (
        (stat.S_ISLNK, "a symbolic link"),
        (stat.S_ISDIR, "a directory"),
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
    )
    return next((name for is_kind, name in kinds if is_kind(mode)), "a device")
