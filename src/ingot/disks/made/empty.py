"""emptyDisk: a new sparse disk that lives as long as the machine."""

import os
from pathlib import Path

from ingot.api.object import Object
from ingot.api.quantity import whole
from ingot.disks.source.refusal import refusal
from ingot.host.files import sync_directory

# Guests align their partitions to it.
_ALIGNMENT = 1 << 20


def write_empty(volume: Object, path: Path) -> None:
    """Makes a sparse raw image of the capacity, rounded up to whole MiB. Raises DiskFault."""
    size = -(-whole(volume["emptyDisk"]["capacity"]) // _ALIGNMENT) * _ALIGNMENT
    scratch = path.with_name(f".{path.name}")
    try:
        scratch.unlink(missing_ok=True)
        descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.ftruncate(descriptor, size)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        scratch.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        scratch.unlink(missing_ok=True)
        what = f"emptyDisk of {size} bytes cannot be made in {path.parent}: {error.strerror}"
        raise refusal(volume["name"], "DiskNotMade", what) from error
