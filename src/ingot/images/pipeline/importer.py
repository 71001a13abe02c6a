"""Imports: an image from anywhere becomes a disk, whole or not at all."""

import errno
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from ingot.host.files import private_directory
from ingot.images.fault import ImageFault
from ingot.images.pipeline.bounds import Bounds
from ingot.images.pipeline.copier import Copier
from ingot.images.pipeline.device_part import DevicePart
from ingot.images.pipeline.journal import Journal, State
from ingot.images.pipeline.material import Material, empty, open_material
from ingot.images.pipeline.options import Imported, ImportOptions
from ingot.images.pipeline.part import FilePart, Part
from ingot.images.pipeline.plan import Plan
from ingot.images.pipeline.source import Source
from ingot.images.pipeline.target import Target, is_device
from ingot.images.pipeline.work import Interrupted, Work

if TYPE_CHECKING:
    from ingot.images.pipeline.delta import Listing

Progress = Callable[[int, int], None]
Opening = Callable[[Bounds], AbstractContextManager[Material]]
# A checkpoint that does not fit what is there.
_STALE = ("BadCheckpoint", "Damaged")
_FULL = (errno.ENOSPC, errno.EDQUOT)
# A volume with less is the one that was written to until nothing was left.
_LITTLE = 16 << 20


def import_image(source: Source, target: Path, options: ImportOptions, progress: Progress) -> Imported:
    """Makes the disk that `source` holds the file or block device `target`.

    The name of a file never shows anything but a whole disk. What a killed import has done is taken up by the next
    one of the same source, target and options; a changed source begins anew. `progress` is told the bytes that are
    done, and those in all or 0. Raises ImageFault: what is done is kept where it is worth a retry, or where a server
    has refused to go on; otherwise its room is given back. A KeyboardInterrupt while bytes come becomes Interrupted.
    """
    return import_material(lambda bounds: open_material(source, options, bounds), target, options, progress)


def import_material(opened: Opening, target: Path, options: ImportOptions, progress: Progress) -> Imported:
    """As import_image, of what `opened` gives for the target's bounds."""
    part = _open_part(target, options)
    try:
        bounds = Bounds(str(target), options.limit, options.size, part.room, padded=options.padded)
        with (
            bounds.told(),
            opened(bounds) as material,
            _listing(material, part, options) as listing,
        ):
            imported = _Import(material, part, options, bounds).run(progress)
            if listing is not None:
                listing.write()
            return imported
    finally:
        part.close()


def _listing(material: Material, part: Part, options: ImportOptions) -> "AbstractContextManager[Listing | None]":
    """What makes the disk known as one that later imports can have chunks from."""
    if material.chunks is None or options.cache is None:
        return nullcontext()
    from ingot.images.pipeline.delta import Listing

    return Listing(options.cache, Path(part.name), options.format, material.chunks)


def _open_part(target: Path, options: ImportOptions) -> Part:
    try:
        if options.only_file or not is_device(target):
            return FilePart(target, options.replace, options.preallocate, options.scratch)
        if options.format != "raw":
            raise ImageFault(str(target), "BadTarget", f"a block device takes a raw disk, and not {options.format}")
        if options.state is None:
            raise ImageFault(str(target), "BadTarget", "a block device needs a state directory for its journal")
        _make_private(options.state)
        return DevicePart(target, options.state, options.replace, options.preallocate)
    except OSError as error:
        raise ImageFault(str(target), "BadTarget", f"it cannot be written: {error.strerror}") from None


def _make_private(state: Path) -> None:
    """Who could write to it could say what is on a device."""
    try:
        private_directory(state)
    except OSError as error:
        raise ImageFault(str(state), "BadState", f"no journal can be kept in it: {error.strerror}") from None


def _is_full(directory: Path) -> bool:
    found = os.statvfs(directory)
    return found.f_bavail * found.f_frsize < _LITTLE


def _without_resume(fault: ImageFault) -> ImageFault:
    """The same for an import that the next one would go on with, were it of another kind of source."""
    message = f"{fault.message}; an import of this source cannot go on later, and has to begin anew"
    return ImageFault(fault.subject, fault.reason, message, fault.retry)


class _Doubted(Exception):
    """What was read may have been wrong bytes of a mirror, and is read from elsewhere when the import begins anew."""


class _Import:
    """One import, with both ends open."""

    def __init__(self, material: Material, part: Part, options: ImportOptions, bounds: Bounds) -> None:
        """Raises ImageFault for a disk that is empty or too large, or whose tables are wrong."""
        if material.content is not None:
            if not material.content.size:
                raise empty(material.subject)
            bounds.check(material.content.size)
        self._plan = Plan(material.content, material.subject) if material.content is not None else None
        material.planned()
        self._material = material
        self._part = part
        self._left = part.left
        self._options = options
        self._bounds = bounds
        wanted = f"{options.format}:{options.size}"
        self._journal = Journal(part.journal_path, material.identity, wanted, part.place)

    def run(self, progress: Progress) -> Imported:
        if finished := self._part.published(self._journal):
            return Imported(finished.size, 0, 0, 0, finished.size, self._material.identity)
        state = self._journal.load() if self._part.begun else None
        while True:
            try:
                return self._attempt(state, progress)
            except _Doubted:
                pass
            except ImageFault as fault:
                if state is None or fault.reason not in _STALE:
                    raise
            state = None

    def _attempt(self, state: State | None, progress: Progress) -> Imported:
        """Goes on from the state; one that cannot be used after all is a fault in _STALE, or _Doubted."""
        work, target = self._prepare(state)
        resumed = work.moved
        try:
            size = self._bounds.final(self._move(work, progress))
            self._material.check()
            self._share()
            self._part.publish(size, target, self._journal)
        except ImageFault as fault:
            if self._useless(fault, state):
                self._part.discard(self._journal)
            if work.moved and not self._material.identity and (fault.retry or fault.reason == "Truncated"):
                raise _without_resume(fault) from None
            raise
        except OSError as error:
            aside = self._part.spool_path.exists()
            self._part.discard(self._journal)
            raise self._disk_fault(error, work, aside) from None
        except KeyboardInterrupt:
            raise Interrupted(self._journal.moved) from None
        fetched = self._material.meter.count
        local = self._material.near.found if self._material.near else 0
        anew = self._left and not resumed
        return Imported(size, work.written, fetched, work.spooled, resumed, self._material.identity, local, anew)

    def _move(self, work: Work, progress: Progress) -> int:
        try:
            return work.run(self._journal, self._bounds, progress)
        except ImageFault as fault:
            if fault.reason not in _STALE and self._material.doubt(fault):
                raise _Doubted from fault
            raise

    def _share(self) -> None:
        """Gives back the room for what another disk on the volume has too."""
        near, chunks = self._material.near, self._material.chunks
        # Who writes to shared blocks needs room for his own, which a disk without holes must have already.
        if self._options.preallocate or self._options.format != "raw":
            return
        if near is None or not near.found or chunks is None:
            return
        from ingot.images.pipeline.sharing import share

        share(self._part.target.descriptor, near, chunks())

    def _useless(self, fault: ImageFault, state: State | None) -> bool:
        """Whether nobody will go on with what is written."""
        if fault.reason in _STALE and state is not None:
            return False
        hope = fault.retry or (fault.of_the_way and self._journal.moved > 0)
        return not hope or not self._material.identity or not self._journal.path.exists()

    def _prepare(self, state: State | None) -> tuple[Work, Target]:
        """The work that is left, and what it writes to."""
        if state is not None:
            work, target = self._work(state.clusters)
            if work.resume(state):
                self._part.take_up(target)
                return work, target
        self._journal.remove()
        try:
            self._part.start_over(self._least if self._options.format == "raw" else 0)
        except OSError as error:
            self._part.discard(self._journal)
            raise self._write_fault(error) from None
        return self._work(b"")

    @property
    def _least(self) -> int:
        """How many bytes the disk will have, as far as that is known."""
        content = self._material.content
        return max(content.size if content is not None else 0, self._options.size)

    def _work(self, clusters: bytes) -> tuple[Work, Target]:
        target: Target = self._part.target
        if self._options.format == "qcow2":
            from ingot.images.pipeline.qcow2_target import Qcow2Target

            target = Qcow2Target(target, clusters)
        if self._material.content is not None and self._plan is not None:
            return Copier(self._material.content, target, self._plan), target
        # Codecs and decoders take time to load, which is a good part of a small import.
        from ingot.images.pipeline.pour import Pourer

        assert self._material.stream is not None
        return Pourer(self._material.stream, target, self._part.spool_path), target

    def _write_fault(self, error: OSError) -> ImageFault:
        message = f"it cannot be written: {error.strerror}"
        if error.errno == errno.EFBIG:
            size = f" of {self._least} bytes" if self._least else ""
            message = f"its volume cannot have a file as large as the disk{size}: choose one with another filesystem"
        return ImageFault(self._part.name, "WriteFailed", message)

    def _disk_fault(self, error: OSError, work: Work, aside: bool) -> ImageFault:
        """`aside`: whether something of the image was put aside, beside what is the disk."""
        if error.errno not in _FULL:
            return self._write_fault(error)
        scratch = self._options.scratch
        if aside and scratch is not None and _is_full(scratch):
            message = f"there is no room to put {work.total} bytes of the image aside: make it a qcow2, or make room"
            return ImageFault(str(scratch), "DiskFull", message)
        left = max(work.total - work.moved, 0)
        if not left and self._options.preallocate:
            # All bytes were in: what is lacking is room for the holes.
            message = "there is no room on its volume for all of the disk, as was asked for: make room, and try again"
            return ImageFault(self._part.name, "DiskFull", message)
        why = f"there is no room for the disk on its volume: {work.moved} bytes of the image were in, {left} were not"
        return ImageFault(self._part.name, "DiskFull", f"{why}; make room for {left} bytes or more, and try again")
