"""Images in files of this machine, and those that come through standard input."""

import os
import stat
import sys
from contextlib import ExitStack
from pathlib import Path

from ingot.images.blob import BlobContent, FileBlob
from ingot.images.content import Content, FileContent
from ingot.images.disk import format_of, open_disk
from ingot.images.fault import ImageFault
from ingot.images.pipeline.bounds import Bounds
from ingot.images.pipeline.checked import check_blob
from ingot.images.pipeline.material import PACKED, SEEKABLE, Material, of_stream, wanted_digest
from ingot.images.pipeline.metered import Meter, MeteredContent
from ingot.images.pipeline.options import ImportOptions
from ingot.images.pipeline.pipe import PipeBlob
from ingot.images.pipeline.source import Kind, Source, missing
from ingot.images.still_file import StillFile, version


def open_file(source: Source, options: ImportOptions, bounds: Bounds, stack: ExitStack) -> Material:
    """Raises ImageFault."""
    path = Path(source.place)
    digest = wanted_digest(options)
    try:
        file = StillFile(path)
        blob = stack.enter_context(FileBlob(path))
        format = format_of(BlobContent(blob))
        if format in PACKED:
            return of_stream(blob, file.identity, options, bounds, digest=digest, check=file.check)
        if digest is not None:
            # It can be read again, so that its disk need not be decoded in the order of the file.
            check_blob(blob, digest)
        meter = Meter(options.rate)
        content = _open_metered(path, format, meter, bounds)
    except FileNotFoundError:
        raise missing(path) from None
    except OSError as error:
        raise ImageFault(str(path), "Unreadable", f"it cannot be read: {error.strerror}") from None
    stack.callback(content.close)
    return Material(str(path), file.identity, meter, content=content, format=format, check=file.check)


def _open_metered(path: Path, format: str, meter: Meter, bounds: Bounds) -> Content:
    """The disk in a file. What is read of the file is counted; where QEMU reads it, what is read of the disk."""
    name = str(path)
    if format not in SEEKABLE:
        return MeteredContent(open_disk(path, format, subject=name, limit=bounds.most), name, meter)
    return open_disk(MeteredContent(FileContent(path), name, meter), format, subject=name, limit=bounds.most)


def open_raw(source: Source, options: ImportOptions, stack: ExitStack) -> Material:
    """A file or device as the disk that it is. Nothing tells one version of a device from the next, so that its copies
    begin anew each time. Raises ImageFault."""
    path = Path(source.place)
    try:
        descriptor = open_volume(path, source.kind is Kind.DEVICE)
        stack.callback(os.close, descriptor)
        content = FileContent(Path(f"/proc/self/fd/{descriptor}"))
    except OSError as error:
        raise ImageFault(str(path), "Unreadable", f"it cannot be read: {error.strerror}") from None
    stack.callback(content.close)
    found = os.fstat(descriptor)

    def check() -> None:
        if source.kind is Kind.DISK and version(os.fstat(descriptor)) != version(found):
            raise ImageFault(str(path), "Changed", "it was changed while it was read: start again")

    meter = Meter(options.rate)
    metered = MeteredContent(content, str(path), meter)
    identity = "" if source.kind is Kind.DEVICE else version(found)
    return Material(str(path), identity, meter, content=metered, format="raw", check=check)


def open_volume(path: Path, device: bool) -> int:
    """The disk of a volume, open to be read, in a file or on a `device`. Raises OSError and ImageFault.

    A volume is its user's: a link in it, or the node of a device, could lead to any disk of the machine."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if device else os.O_NOFOLLOW))
    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISBLK(mode) if device else stat.S_ISREG(mode)):
        os.close(descriptor)
        wanted = "block device" if device else "regular file"
        raise ImageFault(str(path), "BadSource", f"it is no {wanted}, which the disk of a volume is")
    return descriptor


def open_stdin(source: Source, options: ImportOptions, bounds: Bounds) -> Material:
    """What comes through standard input, which nobody can go on with later."""
    blob = PipeBlob(sys.stdin.fileno(), str(source))
    return of_stream(blob, "", options, bounds, digest=wanted_digest(options))
