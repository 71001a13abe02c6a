"""Blank disks: an empty filesystem volume gets a sparse `disk.img` of the claim's size, as KubeVirt gives it."""

import os
import stat
from pathlib import Path

from ingot.api.object import Object
from ingot.api.quantity import whole
from ingot.disks.source.filesystem import DISK, others
from ingot.disks.source.refusal import refusal
from ingot.images.blocks import BLOCK, blocks_within

# A filesystem needs room of its own: a disk may be that much smaller than its claim.
_LEAST_SHARE = 0.9
_UNIT = 1 << 20


def is_wanted(volume: Object) -> bool:
    """Whether an empty claim means a new disk: of one that is imported, shared, copied or read, it means that the disk
    is not there yet."""
    source = volume.get("persistentVolumeClaim")
    copied = (volume.get("copy") or {}).get("mode", "none") != "none"
    return bool(source and not source.get("readOnly") and not copied and volume.get("accessMode") != "read-shared")


def fill(volume: str, claim: Object, root: Path) -> None:
    """Makes the disk when the volume mounted at `root` holds nothing; leaves it as it is when it holds anything.

    A disk of no size is one that a killed process began. Raises DiskFault when there is no room.
    """
    try:
        directory = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        # Who looks for the disk next tells that.
        return
    try:
        if _is_empty(directory):
            _make(volume, claim, directory)
    finally:
        os.close(directory)


def _is_empty(directory: int) -> bool:
    if others(directory):
        return False
    try:
        found = os.stat(DISK, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return True
    return stat.S_ISREG(found.st_mode) and found.st_size == 0


def _make(volume: str, claim: Object, directory: int) -> None:
    name = claim["metadata"]["name"]
    size = _size(volume, claim, directory)
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(DISK, flags, 0o600, dir_fd=directory)
        try:
            os.ftruncate(descriptor, size)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.fsync(directory)
    except OSError as error:
        message = f"PersistentVolumeClaim {name!r} is empty, and {DISK} cannot be made in it: {error.strerror}"
        raise refusal(volume, "DiskImageNotMade", message) from None


def _size(volume: str, claim: Object, directory: int) -> int:
    """The claim's size in whole blocks, or what its filesystem has where that is a little less."""
    size = whole(((claim.get("status") or {}).get("capacity") or claim["spec"]["resources"]["requests"])["storage"])
    asked, name = blocks_within(size), claim["metadata"]["name"]
    if not asked:
        message = f"PersistentVolumeClaim {name!r} has {size} bytes, and a disk has at least {BLOCK}: make it larger"
        raise refusal(volume, "ClaimTooSmall", message)
    found = os.fstatvfs(directory)
    free = found.f_bavail * found.f_frsize // _UNIT * _UNIT
    if free < asked * _LEAST_SHARE:
        message = (
            f"PersistentVolumeClaim {name!r} is empty, and its filesystem has {free} of the {asked} bytes that a disk "
            "of its size needs: make room there"
        )
        raise refusal(volume, "NoSpace", message)
    return min(asked, free)
