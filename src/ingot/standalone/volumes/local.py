"""Volumes in a directory: made whole or not at all, and deleted only by those who made them.

DIRECTORY/NAME            a Filesystem volume; or block.img and device, a link to its loop device, of a Block volume
DIRECTORY/.records/NAME   for which claim of which cluster it is
DIRECTORY/.making-NAME    not finished, and made anew by the next try
DIRECTORY/.deleting-NAME  not to be had any more
DIRECTORY/.snapshots      the same once more, of snapshots: nobody has a device of one, and where blocks are not shared
                          its disk is packed
"""

import contextlib
import os
import shutil
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Self

from ingot.api.cdi.names import DISK_NAME
from ingot.host import clone
from ingot.host.clone import Progress
from ingot.host.files import sync_directory
from ingot.host.original import left_alone
from ingot.host.tree import remove_tree
from ingot.standalone.volumes import loop, packing
from ingot.standalone.volumes.records import Record, Records

# The way to a disk must be open to the user that QEMU runs as; what is in the directories is not to be listed.
_PASSABLE = 0o711
_PRIVATE = 0o700
_RECORDS = ".records"
_SNAPSHOTS = ".snapshots"
_IMAGE = "block.img"
_DEVICE = "device"
_PAGE = 4096


class LocalVolumes:
    """The volumes below one directory. Everything here may wait for the disk: call it in a thread."""

    def __init__(self, directory: Path, mode: int = _PASSABLE) -> None:
        self.directory = directory
        self._mode = mode
        self._records = Records(directory / _RECORDS)

    def snapshots(self) -> Self:
        """The snapshots of these volumes: beside them, for blocks are shared within a filesystem only."""
        return type(self)(self.directory / _SNAPSHOTS, _PRIVATE)

    def prepare(self) -> None:
        """Make the directory ready, once in a process, and clear what one that was killed was writing."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self.directory.chmod(self._mode)
        self._records.prepare()
        for scratch in self.directory.glob(f"{clone.PROBE}*"):
            scratch.unlink()
        if os.geteuid() == 0:
            self._drop_lost_links()

    def path(self, name: str, block: bool) -> Path:
        """What a PersistentVolume has as its local path."""
        return self.directory / name / _DEVICE if block else self.directory / name

    def names(self) -> list[str]:
        """The volumes there are records of; none where no volume was ever made."""
        return self._records.names()

    def record(self, name: str) -> Record | None:
        return self._records.read(name)

    def has(self, name: str) -> bool:
        """Whether the volume is there, whole."""
        return (self.directory / name).is_dir()

    def capacity(self) -> int:
        """How many bytes the filesystem holds in all. Volumes are thin: no more than that is refused."""
        return shutil.disk_usage(self.directory).total

    @cached_property
    def shares_blocks(self) -> bool:
        """Whether a copy of a volume is made at one moment, and takes no room."""
        return clone.can_share(self.directory)

    def packable(self, name: str, block: bool) -> str:
        """The file of the volume that is its disk, and that a snapshot has packed: "" where blocks are shared, or
        there is no disk."""
        disk = self.directory / name / (_IMAGE if block else DISK_NAME)
        return "" if self.shares_blocks or not packing.can_pack(disk) else disk.name

    def fill(self, record: Record, size: int, source: Path | None, progress: Progress) -> None:
        """Make what is to be the volume, as a copy of the volume at `source` if there is one, on disk when this
        returns. Nobody sees it yet.

        Raises OSError, also where a copy took time in which the original was changed, and clone.Cancelled.
        """
        self._records.begin(record)
        making = self._making(record.name)
        remove_tree(making)
        making.mkdir()
        making.chmod(_PASSABLE)
        try:
            self._fill(making, record, _whole_pages(size), source, progress)
        except OSError:
            # Where there is no room, what there is of it takes the last.
            with contextlib.suppress(OSError):
                remove_tree(making)
            raise
        # Last, for a filesystem commits with the volume what was written before it.
        sync_directory(making)
        self._records.sync(record.name)

    def publish(self, name: str) -> None:
        """Let what was filled be the volume."""
        self._making(name).rename(self.directory / name)
        sync_directory(self.directory)

    def _making(self, name: str) -> Path:
        return self.directory / f".making-{name}"

    def _fill(self, making: Path, record: Record, size: int, source: Path | None, progress: Progress) -> None:
        if not record.block:
            if source is not None:
                with self._at_one_moment(source):
                    self._copy(source, making, record, progress)
            return
        image = making / _IMAGE
        if source is not None:
            original = source / _IMAGE
            loop.flush(original)
            progress.total = original.stat().st_blocks * 512
            with self._at_one_moment(original):
                self._copy(source, making, record, progress)
                # What was written to its device meanwhile reaches the file later.
                loop.flush(original)
        if source is None or image.stat().st_size < size:
            _lengthen(image, size)

    def _at_one_moment(self, original: Path) -> AbstractContextManager[None]:
        return contextlib.nullcontext() if self.shares_blocks else left_alone(original)

    def _copy(self, source: Path, making: Path, record: Record, progress: Progress) -> None:
        """Copy a volume or snapshot, its disk packed for a snapshot that has it so, and unpacked from one."""
        original = Records(source.parent / _RECORDS).read(source.name)
        packed = record.packed or (original.packed if original else "")
        if not record.block:
            clone.clone_tree(source, making, progress, without=[packed])
        elif not packed:
            clone.clone_file(source / _IMAGE, making / _IMAGE, progress)
        if packed:
            change = packing.pack if record.packed else packing.unpack
            change(source / packed, making / packed, progress)

    def attach(self, name: str) -> None:
        """Let the volume's device link lead to the loop device of its file, attached anew if it was lost."""
        device = loop.attach(self.directory / name / _IMAGE)
        link = self.directory / name / _DEVICE
        if link.is_symlink() and link.readlink() == device:
            return
        self._drop_lost_links()
        scratch = link.with_name(f".{_DEVICE}")
        scratch.unlink(missing_ok=True)
        scratch.symlink_to(device)
        scratch.rename(link)
        sync_directory(link.parent)

    def _drop_lost_links(self) -> None:
        """Take away links to devices that are another file's by now, as after a reboot: better none at all."""
        devices = loop.devices()
        for name in self.names():
            record = self.record(name)
            link, image = self.directory / name / _DEVICE, self.directory / name / _IMAGE
            if record is None or not record.block or not link.is_symlink() or not image.exists():
                continue
            status = image.stat()
            if devices.get((status.st_dev, status.st_ino)) != link.readlink():
                link.unlink()

    def detach_all(self) -> None:
        """Let go of all devices: for a machine that is taken down. A device that is in use goes when it is closed."""
        for name in self.names():
            record = self.record(name)
            if record is not None and record.block:
                loop.detach(self.directory / name / _IMAGE)

    def grow(self, name: str, block: bool, size: int) -> None:
        """Make the volume at least that large. A Filesystem volume has no size of its own."""
        if not block:
            return
        image, wanted = self.directory / name / _IMAGE, _whole_pages(size)
        if image.stat().st_size < wanted:
            os.truncate(image, wanted)
        # Also when the file is large enough: a try before may have come no further than that.
        loop.grow(loop.attach(image))

    def remove(self, name: str, block: bool) -> None:
        """Delete the volume and what may be left of tries to make or delete it; not its record."""
        here, gone = self.directory / name, self.directory / f".deleting-{name}"
        for place in (here, gone) if block else ():
            # Before the file has no name any more, or nobody would find its device again.
            loop.detach(place / _IMAGE)
        remove_tree(gone)
        with contextlib.suppress(FileNotFoundError):
            here.rename(gone)
            sync_directory(self.directory)
        for place in (gone, self._making(name)):
            remove_tree(place)

    def retain(self, name: str) -> None:
        """Keep the volume for good, whatever becomes of its object."""
        record = self.record(name)
        if record is not None:
            self._records.write(replace(record, retained=True))

    def hand_over(self, name: str, *, cluster: str, namespace: str, claim: str, claim_uid: str) -> None:
        """Let the volume be another claim's, as it is when its object was given to that one. Repeating costs a look."""
        record = self.record(name)
        if record is None:
            return
        given = replace(record, cluster=cluster, namespace=namespace, claim=claim, claim_uid=claim_uid)
        if given != record:
            self._records.write(given)

    def forget(self, name: str) -> None:
        """Drop the record of a volume that is gone."""
        self._records.forget(name)


def _lengthen(image: Path, size: int) -> None:
    descriptor = os.open(image, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.ftruncate(descriptor, size)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _whole_pages(size: int) -> int:
    """The size, rounded up to what devices and direct I/O count in: the rest would be cut off."""
    return -(-size // _PAGE) * _PAGE
