"""From what a server was told to serve to an export that can be read."""

import os
from pathlib import Path

from ingot.images.content import FileContent, descriptor_of
from ingot.images.disk import format_of, open_disk
from ingot.images.fault import ImageFault
from ingot.images.pipeline.source import Kind, Source, missing
from ingot.serve.afar import Afar, Progress
from ingot.serve.entry import Entry
from ingot.serve.export import ContentExport, Export, FileExport

_RAW = ("raw", "iso")


class Opener:
    """Opens exports. Used by several threads."""

    def __init__(self, afar: Afar) -> None:
        self._afar = afar

    def open(self, entry: Entry, progress: Progress) -> Export:
        """It must not be a directory. `progress` is told bytes done and in all where much has to be fetched first.
        Raises ImageFault and OSError."""
        source = Source.parse(entry.source)
        match source.kind:
            case Kind.FILE:
                return self._file(Path(source.place), entry)
            case Kind.REGISTRY:
                return self._afar.image(source.place, entry, progress)
            case Kind.HTTP:
                return self._afar.file(source.place, entry.plain)
            case _:
                raise ImageFault(str(source), "BadSource", "a file, a URL or a registry reference is served")

    def show(self, descriptor: int, subject: str, entry: Entry) -> Export:
        """The disk in an open file, or the file itself as the entry says. It is taken over."""
        try:
            # By what it is, not by its name, which may lead elsewhere by now.
            content = FileContent(Path(f"/proc/self/fd/{descriptor}"))
            try:
                raw = entry.plain or format_of(content) in _RAW
            except BaseException:
                content.close()
                raise
            if raw:
                content.close()
                return FileExport(descriptor, subject, entry.writable)
            if entry.writable:
                content.close()
                why = "it is no raw disk, and only those can be written to; serve it read-only, or its plain bytes"
                raise ImageFault(subject, "ReadOnly", why)
            disk = open_disk(content, subject=subject)
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        return ContentExport(disk, slow=False)

    def _file(self, path: Path, entry: Entry) -> Export:
        mode = os.O_RDWR if entry.writable else os.O_RDONLY
        try:
            descriptor = descriptor_of(path, mode)
        except FileNotFoundError:
            raise missing(path) from None
        return self.show(descriptor, str(path), entry)
