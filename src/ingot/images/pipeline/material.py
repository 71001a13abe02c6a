"""A source, opened: its disk as content that is copied in any order, or as a stream from front to back."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ingot.images.blob import Blob
from ingot.images.chunk import Chunk
from ingot.images.content import Content
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.pipeline.bounds import Bounds
from ingot.images.pipeline.metered import Meter, MeteredBlob
from ingot.images.pipeline.options import ImportOptions
from ingot.images.pipeline.source import Kind, Source

if TYPE_CHECKING:
    from ingot.images.pipeline.delta import LocalChunks
    from ingot.images.stream import Stream

RESUMABLE = "sha256"
# What holds another file; and what is a disk that we decode ourselves, from any place on.
PACKED = ("gzip", "zstd", "xz", "lz4", "tar")
SEEKABLE = ("raw", "iso", "qcow2")
# From a checkpoint of an earlier stream on, or from the start.
Opener = Callable[[bytes | None], "Stream"]


def nothing() -> None:
    """There is nothing to do."""


def trust(fault: ImageFault) -> bool:
    """There is no other place to read from."""
    return False


@dataclass(frozen=True, slots=True)
class Material:
    """Either `content` or `stream` is there. `identity` is the same for the same bytes only; empty where that cannot
    be known. `meter` counts what is fetched. `check` raises ImageFault when the source has changed meanwhile. `doubt`:
    whether a fault that the stream led to may be none when it is read anew, now from another place. `near`
    knows what was here and not fetched. `chunks`: where on the disk its chunks are, if it has some.
    `format` is that of the content's file. `planned` is to be called when the tables of `content` were read, before its
    data are."""

    subject: str
    identity: str
    meter: Meter
    content: Content | None = None
    format: str = ""
    stream: Opener | None = None
    check: Callable[[], None] = nothing
    doubt: Callable[[ImageFault], bool] = trust
    planned: Callable[[], None] = nothing
    near: "LocalChunks | None" = None
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
            case Kind.HTTP | Kind.S3:
                from ingot.images.pipeline.web import open_web

                yield open_web(source, options, bounds, stack)
            case Kind.NBD:
                from ingot.images.pipeline.block import open_nbd

                yield open_nbd(source, options, stack)
            case Kind.DISK | Kind.DEVICE:
                from ingot.images.pipeline.local import open_raw

                yield open_raw(source, options, stack)
            case Kind.BLANK:
                from ingot.images.pipeline.blank import open_blank

                yield open_blank(source, options)
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
    from ingot.images.registry.failover import doubt
    from ingot.images.stream import open_stream

    meter = Meter(options.rate)
    metered: Blob = MeteredBlob(blob, meter)
    if digest is not None and digest.algorithm != RESUMABLE:
        # Its hash cannot be written down, so the next import would have to read all of it anyway.
        metered, digest, identity = CheckedBlob(metered, digest), None, ""

    def opened(checkpoint: bytes | None) -> "Stream":
        return open_stream(metered, digest=digest, resume=checkpoint, limit=bounds.most_of_file, layer=layer)

    return Material(blob.subject, identity, meter, stream=opened, check=check, doubt=partial(doubt, blob))


def empty(subject: str) -> ImageFault:
    """For what holds no disk, as it holds nothing."""
    return ImageFault(subject, "Empty", "it has no bytes, so it is no disk")


def wanted_digest(options: ImportOptions) -> Digest | None:
    """The checksum that was asked for. Raises ImageFault for what is none."""
    return Digest.checksum(options.checksum) if options.checksum else None
