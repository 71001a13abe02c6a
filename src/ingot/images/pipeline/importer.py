"""Imports: an image from anywhere becomes a disk, whole or not at all."""

import errno
from collections.abc import Callable
from pathlib import Path

from ingot.images.fault import ImageFault
from ingot.images.pipeline.copier import Copier
from ingot.images.pipeline.journal import Journal, State
from ingot.images.pipeline.material import Material, open_material
from ingot.images.pipeline.options import Imported, ImportOptions
from ingot.images.pipeline.part import DevicePart, FilePart, Part
from ingot.images.pipeline.plan import Plan
from ingot.images.pipeline.source import Source
from ingot.images.pipeline.target import is_device

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def import_image(
    source: Source, target: Path, options: ImportOptions, progress: Callable[[int, int], None]
) -> Imported:
    """Makes the disk that `source` holds the file or block device `target`.

    The name of a file never shows anything but a whole disk. What a killed import has done is taken up by the next
    one of the same source, target and options; a changed source begins anew. Raises ImageFault: when it may be
    retried what is done is kept, otherwise its room is given back.
    """
    part = _open_part(target, options)
    try:
        with open_material(source) as material:
            return _Import(material, target, part, options).run(progress)
    finally:
        part.close()


def _open_part(target: Path, options: ImportOptions) -> Part:
    try:
        if is_device(target):
            if options.state is None:
                raise ImageFault(str(target), "BadTarget", "a block device needs a state directory for its journal")
            options.state.mkdir(mode=0o700, parents=True, exist_ok=True)
            return DevicePart(target, options.state)
        return FilePart(target)
    except OSError as error:
        raise ImageFault(str(target), "BadTarget", f"it cannot be written: {error.strerror}") from None


class _Import:
    """One import, with its target open."""

    def __init__(self, material: Material, target: Path, part: Part, options: ImportOptions) -> None:
        self._material = material
        self._name = str(target)
        self._part = part
        self._options = options
        self._journal = Journal(part.journal_path, material.identity, f"{options.format}:{options.size}")
        self._size = self._checked_size(material.content.size)

    def _checked_size(self, size: int) -> int:
        """The size of the disk that is made."""
        options, room = self._options, self._part.room
        if options.limit and size > options.limit:
            raise self._fault("TooLarge", f"the disk has {size} bytes, and at most {options.limit} are accepted")
        if options.size and size > options.size:
            raise self._fault("TooLarge", f"the disk has {size} bytes; it is grown, never cut to {options.size}")
        size = max(size, options.size)
        if room is not None and size > room:
            raise self._fault("TooLarge", f"the disk has {size} bytes, and the device has room for {room}")
        return size

    def run(self, progress: Callable[[int, int], None]) -> Imported:
        state = self._journal.load()
        if state is not None and self._part.published(self._journal) and not self._options.replace:
            self._journal.remove()
            return Imported(self._size, 0, 0, 0, state.moved, self._material.identity)
        copier = self._copier(state)
        resumed = copier.moved
        try:
            copier.run(progress)
            self._part.publish(self._size, self._journal)
        except ImageFault as fault:
            if not fault.retry:
                self._part.discard(self._journal)
            raise
        except OSError as error:
            self._part.discard(self._journal)
            raise self._disk_fault(error, copier) from None
        return Imported(self._size, copier.written, copier.moved - resumed, 0, resumed, self._material.identity)

    def _copier(self, state: State | None) -> Copier:
        copier = Copier(self._material.content, self._part.target, Plan(self._material.content), self._journal)
        if state is None or not copier.resume(state):
            self._journal.remove()
            self._part.start_over()
        return copier

    def _disk_fault(self, error: OSError, copier: Copier) -> ImageFault:
        if error.errno in _FULL:
            left = copier.total - copier.moved
            why = f"there is no room for the disk: {left} of its {copier.total} bytes were still to be written"
            return self._fault("DiskFull", f"{why}; make room for them and try again")
        return self._fault("WriteFailed", f"it cannot be written: {error.strerror}")

    def _fault(self, reason: str, message: str) -> ImageFault:
        return ImageFault(self._name, reason, message)
