"""How large the disk of a source is, before there is a place for it."""

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ingot.images.foreign_sizes import FRONTS, size_by_front
from ingot.images.pipeline.bounds import Bounds
from ingot.images.pipeline.importer import Progress
from ingot.images.pipeline.material import Material, open_material
from ingot.images.pipeline.options import ImportOptions
from ingot.images.pipeline.sink import RAW, RawSink, check_disk
from ingot.images.pipeline.source import Source
from ingot.images.qcow2.header import virtual_size
from ingot.images.sniff import HEAD, sniff

if TYPE_CHECKING:
    from ingot.images.stream import Stream


@dataclass(frozen=True, slots=True)
class Measured:
    """`size` is what a guest sees; `format` that of the image; `identity` as an import has it."""

    size: int
    format: str
    identity: str


def measure(source: Source, options: ImportOptions, progress: Progress) -> Measured:
    """Reads tables and headers. Where these do not tell, as of a raw disk that is compressed, all of it is read, and
    nothing kept. Raises ImageFault."""
    bounds = Bounds(str(source), options.limit)
    with open_material(source, options, bounds) as material:
        if material.content is not None:
            return Measured(material.content.size, material.format, material.identity)
        return _of_stream(material, bounds, progress)


def _of_stream(material: Material, bounds: Bounds, progress: Progress) -> Measured:
    assert material.stream is not None
    with material.stream(None) as stream:
        progress(0, stream.total)
        head = stream.head(HEAD)
        format = sniff(head)
        size = stream.size if format in RAW else _size_in_front(format, head, stream)
        if size is None:
            with closing(RawSink(stream.subject, _nowhere, bounds)) as sink:
                for data in stream:
                    sink.feed(data)
                    progress(stream.fetched, stream.total)
                size = sink.finish()
        bounds.check(size)
        return Measured(size, format, material.identity)


def _size_in_front(format: str, head: bytes, stream: "Stream") -> int:
    """The size of a disk that is not raw. Raises ImageFault, also for what is no disk."""
    if format == "qcow2":
        return virtual_size(head, stream.subject)
    check_disk(format, stream.subject)
    return size_by_front(head if format not in FRONTS else _front(stream, FRONTS[format]), format, stream.subject)


def _front(stream: "Stream", length: int) -> bytes:
    front = bytearray()
    while len(front) < length and (data := next(stream, None)):
        front += data
    return bytes(front)


def _nowhere(start: int, data: memoryview) -> None:
    """The bytes of the disk are not wanted."""
