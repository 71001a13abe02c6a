"""Imports: an image from anywhere becomes a disk, whole or not at all."""

import errno
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ingot.host.files import private_directory
from ingot.images.fault import ImageFault
from ingot.images.pipeline.bounds import Bounds
from ingot.images.pipeline.copier import Copier
from ingot.images.pipeline.device_part import DevicePart
from ingot.images.pipeline.journal import Journal, State
from ingot.images.pipeline.material import Material, open_material
from ingot.images.pipeline.options import Imported, ImportOptions
from ingot.images.pipeline.part import FilePart, Part
from ingot.images.pipeline.plan import Plan
from ingot.images.pipeline.source import Source
from ingot.images.pipeline.target import Target, is_device

if TYPE_CHECKING:
    from ingot.images.pipeline.delta import Listing

Progress = Callable[[int, int], None]
# A checkpoint that does not fit what is there.
_STALE = ("BadCheckpoint", "Damaged")
_FULL = (errno.ENOSPC, errno.EDQUOT)


def import_image(source: Source, target: Path, options: ImportOptions, progress: Progress) -> Imported:
    """Makes the disk that `source` holds the file or block device `target`.

    The name of a file never shows anything but a whole disk. What a killed import has done is taken up by the next
    one of the same source, target and options; a changed source begins anew. `progress` is told the bytes that are
    done, and those in all or 0. Raises ImageFault: where it is worth a retry what is done is kept, otherwise its room
    is given back.
    """
    part = _open_part(target, options)
    try:
        bounds = Bounds(str(target), options.limit, options.size, part.room)
        with (
            bounds.told(),
            open_material(source, options, bounds) as material,
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
        if not is_device(target):
            return FilePart(target, options.replace)
        if options.format != "raw":
            raise ImageFault(str(target), "BadTarget", f"a block device takes a raw disk, and not {options.format}")
        if options.state is None:
            raise ImageFault(str(target), "BadTarget", "a block device needs a state directory for its journal")
        _make_private(options.state)
        return DevicePart(target, options.state, options.replace)
    except OSError as error:
        raise ImageFault(str(target), "BadTarget", f"it cannot be written: {error.strerror}") from None


def _make_private(state: Path) -> None:
    """Who could write to it could say what is on a device."""
    try:
        private_directory(state)
    except OSError as error:
        raise ImageFault(str(state), "BadState", f"no journal can be kept in it: {error.strerror}") from None


def _without_resume(fault: ImageFault) -> ImageFault:
    """The same for an import that the next one would go on with, were it of another kind of source."""
    message = f"{fault.message}; an import of this source cannot go on later, and has to begin anew"
    return ImageFault(fault.subject, fault.reason, message, fault.retry)


class _Work(Protocol):
    """The way of the bytes: Copier or Pourer."""

    @property
    def total(self) -> int: ...

    @property
    def moved(self) -> int: ...

    @property
    def written(self) -> int: ...

    @property
    def spooled(self) -> int: ...

    def resume(self, state: State) -> bool: ...

    def run(self, journal: Journal, bounds: Bounds, progress: Progress) -> int: ...


class _Import:
    """One import, with both ends open."""

    def __init__(self, material: Material, part: Part, options: ImportOptions, bounds: Bounds) -> None:
        """Raises ImageFault for a disk that is too large, or whose tables are wrong."""
        if material.content is not None:
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
        state = self._journal.load()
        if state is not None and self._part.begun:
            try:
                return self._attempt(state, progress)
            except ImageFault as fault:
                if fault.reason not in _STALE:
                    raise
        return self._attempt(None, progress)

    def _attempt(self, state: State | None, progress: Progress) -> Imported:
        """Goes on from the state; one that cannot be used after all is a fault in _STALE."""
        work, target = self._prepare(state)
        resumed = work.moved
        try:
            size = self._bounds.final(work.run(self._journal, self._bounds, progress))
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
            self._part.discard(self._journal)
            raise self._disk_fault(error, work) from None
        fetched = self._material.meter.count
        local = self._material.local()
        anew = self._left and not resumed
        return Imported(size, work.written, fetched, work.spooled, resumed, self._material.identity, local, anew)

    def _share(self) -> None:
        """Gives back the room for what another disk on the volume has too."""
        cache, chunks = self._options.cache, self._material.chunks
        if cache is None or chunks is None or not self._material.local() or self._options.format != "raw":
            return
        from ingot.images.pipeline.delta import open_seeds
        from ingot.images.pipeline.sharing import share

        with open_seeds(cache) as seeds:
            share(self._part.target.descriptor, seeds, chunks())

    def _useless(self, fault: ImageFault, state: State | None) -> bool:
        """Whether nobody will go on with what is written."""
        if fault.reason in _STALE and state is not None:
            return False
        return not fault.retry or not self._material.identity or not self._journal.path.exists()

    def _prepare(self, state: State | None) -> tuple[_Work, Target]:
        """The work that is left, and what it writes to."""
        if state is not None:
            work, target = self._work(state.clusters)
            if work.resume(state):
                self._part.take_up(target)
                return work, target
        self._journal.remove()
        self._part.start_over()
        return self._work(b"")

    def _work(self, clusters: bytes) -> tuple[_Work, Target]:
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

    def _disk_fault(self, error: OSError, work: _Work) -> ImageFault:
        if error.errno == errno.EFBIG:
            content = self._material.content
            size = "" if content is None else f" of {max(content.size, self._options.size)} bytes"
            message = f"its volume cannot have a file as large as the disk{size}: choose one with another filesystem"
            return ImageFault(self._part.name, "TooLarge", message)
        if error.errno not in _FULL:
            return ImageFault(self._part.name, "WriteFailed", f"it cannot be written: {error.strerror}")
        left = max(work.total - work.moved, 0)
        why = f"there is no room for the disk on its volume: {work.moved} bytes of the image were in, {left} were not"
        return ImageFault(self._part.name, "DiskFull", f"{why}; make room for {left} bytes or more, and try again")
