"""From what a server was told to serve to an export that can be read."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from ingot.images.content import FileContent
from ingot.images.disk import open_disk
from ingot.images.fault import ImageFault
from ingot.images.pipeline.source import Kind, Source
from ingot.images.qcow2.header import MAGIC
from ingot.serve.entry import Entry
from ingot.serve.export import ContentExport, Export, FileExport


@dataclass(frozen=True, slots=True)
class Opener:
    """Opens exports. `cache` is where what comes over a network is kept, `limit` how many bytes of it at most."""

    cache: Path
    limit: int

    def open(self, entry: Entry) -> Export:
        """Raises ImageFault and OSError. It must not be a directory."""
        source = Source.parse(entry.source)
        match source.kind:
            case Kind.FILE:
                return self._file(Path(source.place), entry)
            case _:
                raise ImageFault(entry.source, "BadSource", "it cannot be served")

    def show(self, descriptor: int, subject: str, entry: Entry) -> Export:
        """The disk in an open file, or the file itself as the entry says. It is taken over."""
        try:
            if not entry.plain and not _is_raw(descriptor):
                content = open_disk(FileContent(Path(f"/proc/self/fd/{descriptor}")), subject=subject)
                os.close(descriptor)
                return ContentExport(content, slow=False)
        except BaseException:
            os.close(descriptor)
            raise
        return FileExport(descriptor, subject, entry.writable)

    def _file(self, path: Path, entry: Entry) -> Export:
        mode = os.O_RDWR if entry.writable else os.O_RDONLY
        descriptor = os.open(path, mode | os.O_CLOEXEC | os.O_NONBLOCK)
        kind = os.fstat(descriptor).st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISBLK(kind)):
            os.close(descriptor)
            raise ImageFault(str(path), "BadSource", "it is no file and no block device")
        if entry.writable and not entry.plain and not _is_raw(descriptor):
            os.close(descriptor)
            why = "it is no raw disk, and only those can be written to; serve it read-only, or its plain bytes"
            raise ImageFault(str(path), "ReadOnly", why)
        return self.show(descriptor, str(path), entry)


def _is_raw(descriptor: int) -> bool:
    return os.pread(descriptor, len(MAGIC), 0) != MAGIC
