"""What the filesystems of volumes and of pools can do, and whether QEMU can get there."""

import fcntl
import os
import pwd
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ingot.host.reflink import share_blocks
from ingot.node.doctor.check import Check, fail, is_root, ok, warn
from ingot.node.libvirt_home import QEMU_USER

# Below the first no guest should be started, below the second no image fits.
LITTLE = 64 << 20
SMALL = 2 << 30


def checks(places: Mapping[str, Path]) -> list[Check]:
    """All about directories, by what they are for, such as volumes. They need not exist yet."""
    found = []
    filesystems: dict[int, list[str]] = {}
    directories: dict[Path, list[str]] = {}
    for purpose, path in places.items():
        place = _nearest(path)
        filesystems.setdefault(place.stat().st_dev, []).append(purpose)
        directories.setdefault(place, []).append(purpose)
    for purposes in filesystems.values():
        found += _filesystem(", ".join(purposes), _nearest(places[purposes[0]]))
    for place, purposes in directories.items():
        found += _passable(", ".join(purposes), place)
    return found


def _nearest(path: Path) -> Path:
    """The directory itself, or the nearest one above it that exists."""
    return next(place for place in (path, *path.parents) if place.is_dir())


def _filesystem(purpose: str, place: Path) -> list[Check]:
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        return [fail(purpose, f"nothing can be written to {place}: {error.strerror}", "choose another with --dir")]
    return [_space(purpose, place), _clone(purpose, place), _direct(purpose, place)]


def _space(purpose: str, place: Path) -> Check:
    name = f"{purpose}: space"
    free = shutil.disk_usage(place).free
    found = f"{free / (1 << 30):.1f} GiB free at {place}"
    cure = "make room there, or choose another directory with --dir"
    if free < LITTLE:
        return fail(name, found, cure)
    return warn(name, found, cure) if free < SMALL else ok(name, found)


def _clone(purpose: str, place: Path) -> Check:
    name = f"{purpose}: reflink"
    with tempfile.TemporaryFile(dir=place) as source, tempfile.TemporaryFile(dir=place) as target:
        source.write(b"\0" * 4096)
        source.flush()
        if not share_blocks(source.fileno(), target.fileno()):
            found = f"the filesystem of {place} cannot share blocks: clones are copied"
            return warn(name, found, "choose a directory on XFS or Btrfs with --dir")
    return ok(name, "clones take no time and no space")


def _direct(purpose: str, place: Path) -> Check:
    name = f"{purpose}: O_DIRECT"
    with tempfile.TemporaryFile(dir=place) as file:
        flags = fcntl.fcntl(file, fcntl.F_GETFL)
        try:
            fcntl.fcntl(file, fcntl.F_SETFL, flags | os.O_DIRECT)
        except OSError:
            found = f"the filesystem of {place} has none: disks with cache none do not start"
            return warn(name, found, "choose a directory on a disk with --dir")
    return ok(name, "disks with cache none work")


def _passable(purpose: str, place: Path) -> list[Check]:
    """Root only: whether QEMU's user can get to the directory. What is made below it is made passable."""
    if not is_root():
        return []
    name = f"{purpose}: passable"
    try:
        user = pwd.getpwnam(QEMU_USER)
    except KeyError:
        return []
    groups = set(os.getgrouplist(user.pw_name, user.pw_gid))
    for above in (*reversed(place.parents), place):
        if not _may_pass(above, user.pw_uid, groups):
            cure = f"chmod o+x {above}, or choose a directory outside it with --dir, such as /var/lib/ingot"
            return [fail(name, f"{QEMU_USER}, as whom guests run, may not pass through {above}", cure)]
    return [ok(name, f"{QEMU_USER} can get to {place}")]


def _may_pass(place: Path, uid: int, groups: set[int]) -> bool:
    status = place.stat()
    if status.st_uid == uid:
        return bool(status.st_mode & 0o100)
    return bool(status.st_mode & (0o010 if status.st_gid in groups else 0o001))
