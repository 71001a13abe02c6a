"""Expansion: the disk of a claim follows it when it grows, as KubeVirt's ExpandDisks has it. No disk ever shrinks."""

import os
from pathlib import Path

from ingot.api.object import Object
from ingot.api.quantity import whole
from ingot.disks.access import AccessMode, wanted

# Disks grow by whole units of what partitions are aligned to.
_UNIT = 1 << 20
# A filesystem needs room of its own: a disk may be that much smaller than its claim.
LEAST_SHARE = 0.9


def wanted_size(instance: Object, volume: Object, disk: Object) -> int:
    """How large the claim of a volume lets the guest's disk be; 0 for a disk that follows no claim.

    Only disks that the guest writes to follow: others are of the size that they have been given. The claim's capacity
    is what the instance's controller has written down of it.
    """
    follows = "persistentVolumeClaim" in volume or "dataVolume" in volume
    copied = (volume.get("copy") or {}).get("mode", "none") != "none"
    if not follows or copied or wanted(volume, disk) is AccessMode.READ_SHARED:
        return 0
    told = (instance.get("status") or {}).get("volumeStatus") or ()
    claims = (each.get("persistentVolumeClaimInfo") or {} for each in told if each["name"] == volume["name"])
    capacity = (next(claims, {}).get("capacity") or {}).get("storage")
    return whole(capacity) // _UNIT * _UNIT if capacity else 0


def possible_size(file: Path, size: int) -> int:
    """As much of `size` as the filesystem of a raw file has room for, the file's own included. Raises OSError."""
    found, around = file.stat(), os.statvfs(file)
    most = found.st_blocks * 512 + around.f_bavail * around.f_frsize
    return min(size, most // _UNIT * _UNIT)


def device_size(device: Path) -> int:
    """How large a block device is. Raises OSError."""
    descriptor = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.lseek(descriptor, 0, os.SEEK_END)
    finally:
        os.close(descriptor)


def expand(file: Path, size: int) -> int:
    """Makes a raw file that nobody has in use that large, sparsely, if it is smaller; how large it is then.

    Where the filesystem has too little room it stays as it is. Raises OSError.
    """
    descriptor = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
    try:
        has = os.fstat(descriptor).st_size
        possible = possible_size(file, size)
        if possible <= has or possible < size * LEAST_SHARE:
            return has
        os.ftruncate(descriptor, possible)
        os.fsync(descriptor)
        return possible
    finally:
        os.close(descriptor)
