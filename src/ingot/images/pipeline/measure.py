"""How large the disk of a source is, before there is a place for it."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from ingot.images.pipeline.bounds import Bounds
from ingot.images.pipeline.importer import Progress
from ingot.images.pipeline.material import Material, open_material
from ingot.images.pipeline.options import ImportOptions
from ingot.images.pipeline.source import Source
from ingot.images.qcow2.header import virtual_size
from ingot.images.sniff import HEAD, sniff


@dataclass(frozen=True, slots=True)
class Measured:
    """`size` is what a guest sees; `format` that of the image; `identity` as an import has it."""

    size: int
    format: str
    identity: str


def measure(source: Source, options: ImportOptions, scratch: Path, progress: Progress) -> Measured:
    """Reads tables and headers. Where these do not tell, as of a raw disk that is compressed, all of it is read; and
    what only QEMU knows is put into the directory `scratch` meanwhile. Raises ImageFault, and OSError when there is no
    room for that."""
    bounds = Bounds(str(source), options.limit)
    with open_material(source, options, bounds) as material:
        if material.content is not None:
            return Measured(material.content.size, material.format, material.identity)
        return _of_stream(material, bounds, scratch, progress)


def _of_stream(material: Material, bounds: Bounds, scratch: Path, progress: Progress) -> Measured:
    from ingot.images.pipeline.sink import RAW, open_sink

    assert material.stream is not None
    with material.stream(None) as stream:
        head = stream.head(HEAD)
        format = sniff(head)
        size = virtual_size(head, stream.subject) if format == "qcow2" else None
        if format in RAW:
            size = stream.size
        if size is not None:
            bounds.check(size)
            return Measured(size, format, material.identity)
        spool = scratch / "inspect.ingot-spool"
        with closing(open_sink(format, stream.subject, _nowhere, bounds, spool)) as sink:
            for data in stream:
                sink.feed(data)
                progress(stream.fetched, stream.total)
            return Measured(sink.finish(), format, material.identity)


def _nowhere(start: int, data: memoryview) -> None:
    """The bytes of the disk are not wanted."""
