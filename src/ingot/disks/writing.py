"""Whether an export lets a guest write, before QEMU finds out."""

import errno
import os
from pathlib import Path

from ingot.disks.endpoint import Endpoint, Network
from ingot.disks.imageopts import image, told
from ingot.disks.source.refusal import refusal
from ingot.host.command import CommandFailed, Limits, run

_LIMITS = Limits(seconds=10)
# What QEMU makes of an export whose server says that it is only to be read.
_REFUSED = (os.strerror(errno.EACCES), os.strerror(errno.EROFS), os.strerror(errno.EPERM))


async def check_writable(volume: str, endpoint: Endpoint, scratch: Path) -> None:
    """Raises DiskFault with the reason ReadOnlyExport for an NBD export that was read and cannot be written to.

    All else is left to QEMU: to look might take what is another's meanwhile.
    """
    if not isinstance(endpoint, Network) or endpoint.protocol != "nbd":
        return
    try:
        with image(endpoint, scratch) as opened:
            await run(["qemu-io", "-c", "quit", *opened.arguments, opened.name], limits=_LIMITS)
    except CommandFailed as failure:
        said = failure.stderr.rpartition(": ")[2]
        if said not in _REFUSED:
            message = f"{told(endpoint)} cannot be opened any more ({said}): see that its server runs and is well"
            raise refusal(volume, "Unreachable", message) from None
        message = (
            f"{told(endpoint)} cannot be opened for writing ({said}): let its server write to it, or give the volume "
            "accessMode read-shared (readOnly: true of a networkVolume)"
        )
        raise refusal(volume, "ReadOnlyExport", message) from None
