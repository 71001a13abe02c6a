"""Filesystem volumes: exactly one raw `disk.img` at the root, whatever else somebody may have put there (F1)."""

import os
from pathlib import Path

from ingot.disks.source.image import open_raw
from ingot.disks.source.refusal import refusal
from ingot.host.descriptor import Descriptor

DISK = "disk.img"
# What mkfs leaves in a new filesystem.
_IGNORED = frozenset({"lost+found"})
# A volume may hold millions of files; a few names are enough to tell what is wrong.
_MOST_NAMES = 3


def find(volume: str, claim: str, root: Path) -> Descriptor:
    """The disk in the mounted volume `root` of a claim, opened for reading. Raises DiskFault."""
    try:
        directory = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        message = f"the kubelet has not mounted PersistentVolumeClaim {claim!r} at {root} ({error.strerror})"
        raise refusal(volume, "VolumeNotMounted", message, retry=2.0) from None
    try:
        subject = f"{DISK} of PersistentVolumeClaim {claim!r}"
        missing = f"PersistentVolumeClaim {claim!r} has no {DISK} at its root: put a raw disk image there"
        opened = open_raw(volume, Path(DISK), subject, missing, directory)
        if found := others(directory):
            message = (
                f"PersistentVolumeClaim {claim!r} must hold nothing but {DISK}, and also has {', '.join(found)}: "
                "remove what does not belong there"
            )
            raise refusal(volume, "TooManyFiles", message)
    finally:
        os.close(directory)
    return opened


def others(directory: int) -> list[str]:
    """What else is in a volume besides the disk: a few names of it."""
    found = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name != DISK and entry.name not in _IGNORED:
                found.append(repr(entry.name))
            if len(found) > _MOST_NAMES:
                return [*sorted(found[:_MOST_NAMES]), "more"]
    return sorted(found)
