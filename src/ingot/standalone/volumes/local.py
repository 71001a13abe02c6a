"""Volumes in a directory: made whole or not at all, and deleted only by those who made them.

DIRECTORY/NAME            a Filesystem volume; or block.img and device, a link to its loop device, of a Block volume
DIRECTORY/.records/NAME   for which claim of which cluster it was made
DIRECTORY/.making-NAME    not finished, and made anew by the next try
DIRECTORY/.deleting-NAME  not to be had any more
"""

import contextlib
import os
import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self

import msgspec

from ingot.host.files import sync_directory, write_atomically
from ingot.host.tree import remove_tree
from ingot.standalone.volumes import clone, loop
from ingot.standalone.volumes.clone import Progress

# The way to a disk must be open to the user that QEMU runs as; what is in the directories is not to be listed.
_PASSABLE = 0o711
_IMAGE = "block.img"
_DEVICE = "device"
_PAGE = 4096


@dataclass(frozen=True, slots=True)
class Record:
    """Whose volume it is. `retained` volumes outlive their object: nobody but a person deletes them."""

    name: str
    cluster: str
    namespace: str
    claim: str
    claim_uid: str
    block: bool
    retained: bool = False

    @classmethod
    def read(cls, content: bytes) -> Self:
        return cls(**msgspec.json.decode(content))


class LocalVolumes:
    """The volumes below one directory. Everything here may wait for the disk: call it in a thread."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._records = directory / ".records"

    def prepare(self) -> None:
        """Make the directory ready, once in a process, and clear what one that was killed was writing."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self.directory.chmod(_PASSABLE)
        self._records.mkdir(mode=0o700, exist_ok=True)
        for scratch in (*self._records.glob(".*"), *self.directory.glob(f"{clone.PROBE}*")):
            scratch.unlink()
        if os.geteuid() == 0:
            self._drop_lost_links()

    def path(self, name: str, block: bool) -> Path:
        """What a PersistentVolume has as its local path."""
        return self.directory / name / _DEVICE if block else self.directory / name

    def names(self) -> list[str]:
        """The volumes there are records of; none where no volume was ever made."""
        if not self._records.is_dir():
            return []
        return sorted(path.name for path in self._records.iterdir() if not path.name.startswith("."))

    def record(self, name: str) -> Record | None:
        try:
            return Record.read((self._records / name).read_bytes())
        except FileNotFoundError:
            return None

    def has(self, name: str) -> bool:
        """Whether the volume is there, whole."""
        return (self.directory / name).is_dir()

    def capacity(self) -> int:
        """How many bytes the filesystem holds in all. Volumes are thin: no more than that is refused."""
        return shutil.disk_usage(self.directory).total

    def can_share(self) -> bool:
        """Whether a copy of a volume is made at one moment, and takes no room."""
        return clone.can_share(self.directory)

    def fill(self, record: Record, size: int, source: str, progress: Progress) -> None:
        """Make what is to be the volume, as a copy of the volume `source` unless that is "". Nobody sees it yet.

        Raises OSError, and clone.Cancelled.
        """
        self._write(record)
        making = self._making(record.name)
        remove_tree(making)
        making.mkdir()
        making.chmod(_PASSABLE)
        self._fill(making, record, _whole_pages(size), source, progress)
        sync_directory(making)

    def publish(self, name: str) -> None:
        """Let what was filled be the volume."""
        self._making(name).rename(self.directory / name)
        sync_directory(self.directory)

    def _making(self, name: str) -> Path:
        return self.directory / f".making-{name}"

    def _fill(self, making: Path, record: Record, size: int, source: str, progress: Progress) -> None:
        if not record.block:
            if source:
                clone.clone_tree(self.directory / source, making, progress)
            return
        image = making / _IMAGE
        if source:
            original = self.directory / source / _IMAGE
            loop.flush(original)
            progress.total = original.stat().st_blocks * 512
            clone.clone_file(original, image, progress)
        descriptor = os.open(image, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.ftruncate(descriptor, max(size, os.fstat(descriptor).st_size))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

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
            self._write(replace(record, retained=True))

    def forget(self, name: str) -> None:
        """Drop the record of a volume that is gone."""
        (self._records / name).unlink(missing_ok=True)
        sync_directory(self._records)

    def _write(self, record: Record) -> None:
        write_atomically(self._records / record.name, msgspec.json.encode(asdict(record)))


def _whole_pages(size: int) -> int:
    """The size, rounded up to what devices and direct I/O count in: the rest would be cut off."""
    return -(-size // _PAGE) * _PAGE
