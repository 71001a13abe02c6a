"""What QEMU gets of a disk: a file that others could have replaced goes to it as it was opened, not by its path."""

import os
from xml.etree.ElementTree import Element

from ingot.disks.endpoint import Endpoint, File
from ingot.disks.source.refusal import refusal
from ingot.host.descriptor import Descriptor


def handed_over(volume: str, endpoint: Endpoint | None, disk: Element) -> Descriptor | None:
    """The opened file in the chain of a <disk>, once more and just for QEMU: for writing where the disk writes to it.

    None when the chain has none. Raises DiskFault with the reason AccessDenied.
    """
    found, writable = endpoint, disk.find("readonly") is None
    while isinstance(found, File):
        if found.opened is not None:
            return _again(volume, found, found.opened, writable)
        # What is below an overlay is only read.
        found, writable = found.backing, False
    return None


def _again(volume: str, file: File, opened: Descriptor, writable: bool) -> Descriptor:
    try:
        return opened.again(os.O_RDWR if writable else os.O_RDONLY)
    except OSError as error:
        cure = "let us write to it, or make the disk read-only" if writable else "let us read it"
        message = f"{file.path} cannot be opened for {'writing' if writable else 'reading'} ({error.strerror}): {cure}"
        raise refusal(volume, "AccessDenied", message) from None
