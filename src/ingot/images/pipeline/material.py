"""A source, opened: its disk as content that can be copied in any order, and what tells it from a later version."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ingot.images.content import Content, FileContent
from ingot.images.fault import ImageFault
from ingot.images.pipeline.source import Kind, Source


@dataclass(frozen=True, slots=True)
class Material:
    """`identity` is the same for the same bytes only; empty where that cannot be known."""

    content: Content
    identity: str


@contextmanager
def open_material(source: Source) -> Iterator[Material]:
    """The disk of a source. Raises ImageFault."""
    if source.kind is not Kind.FILE:
        raise ImageFault(str(source), "BadSource", "only files can be imported")
    path = Path(source.place)
    try:
        content = FileContent(path)
    except OSError as error:
        raise ImageFault(str(path), "NotFound", f"it cannot be read: {error.strerror}") from None
    with content:
        yield Material(content, file_identity(path))


def file_identity(path: Path) -> str:
    found = path.stat()
    return f"file:{found.st_dev}:{found.st_ino}:{found.st_size}:{found.st_mtime_ns}"
