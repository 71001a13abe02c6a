"""A source, opened: its disk as content that is copied in any order, or as a stream from front to back."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ingot.images.blob import Blob
from ingot.images.chunk import Chunk
from ingot.images.content import Content
from ingot.images.digest import Digest
from ingot.images.pipeline.bounds import Bounds
from ingot.images.pipeline.metered import Meter, MeteredBlob
from ingot.images.pipeline.options import ImportOptions
from ingot.images.pipeline.source import Kind, Source

if TYPE_CHECKING:
    from ingot.images.stream import Stream

RESUMABLE = "sha256"
# What holds another file; and what is a disk that we decode ourselves, from any place on.
PACKED = ("gzip", "zstd", "xz", "lz4", "tar")
SEEKABLE = ("raw", "iso", "qcow2")
# From a checkpoint of an earlier stream on, or from the start.
Opener = Callable[[bytes | None], "Stream"]


def nothing() -> None:
    """There is nothing to do."""


def none() -> int:
    """Nothing was here."""
    return 0


@dataclass(frozen=True, slots=True)
class Material:
    """Either `content` or `stream` is there. `identity` is the same for the same bytes only; empty where that cannot
    be known. `meter` counts what is fetched. `check` raises ImageFault when the source has changed meanwhile. `local`
    counts the bytes that were here and not fetched. `chunks`: where on the disk its chunks are, if it has some.
    `planned` is to be called when the tables of `content` were read, before its data are."""

    subject: str
    identity: str
    meter: Meter
    content: Content | None = None
    stream: Opener | None = None
    check: Callable[[], None] = nothing
    planned: Callable[[], None] = nothing
    local: Callable[[], int] = none
    chunks: Callable[[], Iterable[tuple[int, Chunk]]] | None = None


@contextmanager
def open_material(source: Source, options: ImportOptions, bounds: Bounds) -> Iterator[Material]:
    """The disk of a source, until the block ends. Raises ImageFault."""
    with ExitStack() as stack:
        match source.kind:
            case Kind.FILE:
                from ingot.images.pipeline.local import open_file

                yield open_file(source, options, bounds, stack)
            case Kind.STDIN:
                from ingot.images.pipeline.local import open_stdin

                yield open_stdin(source, options, bounds)
            case Kind.HTTP:
                from ingot.images.pipeline.web import open_web

                yield open_web(source, options, bounds, stack)
            case Kind.NBD:
                from ingot.images.pipeline.block import open_nbd

                yield open_nbd(source, options, stack)
            case Kind.REGISTRY:
                from ingot.images.pipeline.container import open_container

                yield open_container(source, options, bounds, stack)


def of_stream(
    blob: Blob,
    identity: str,
    options: ImportOptions,
    bounds: Bounds,
    *,
    digest: Digest | None = None,
    layer: bool = False,
    check: Callable[[], None] = nothing,
) -> Material:
    """The disk in a blob from front to back; with a digest it ends only when the blob has that."""
    from ingot.images.pipeline.checked import CheckedBlob
    from ingot.images.stream import open_stream

    meter = Meter(options.rate)
    metered: Blob = MeteredBlob(blob, meter)
    if digest is not None and digest.algorithm != RESUMABLE:
        # Its hash cannot be written down, so the next import would have to read all of it anyway.
        metered, digest, identity = CheckedBlob(metered, digest), None, ""

    def opened(checkpoint: bytes | None) -> "Stream":
        return open_stream(metered, digest=digest, resume=checkpoint, limit=bounds.most, layer=layer)

    return Material(blob.subject, identity, meter, stream=opened, check=check)


def wanted_digest(options: ImportOptions) -> Digest | None:
    """The checksum that was asked for. Raises ImageFault for what is none."""
    return Digest.parse(options.checksum) if options.checksum else None
