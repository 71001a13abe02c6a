"""Container disks in registries."""

from collections.abc import Iterable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from ingot.images.chunk import Chunk
from ingot.images.container_disk import open_container_disk
from ingot.images.content import Content
from ingot.images.disk import format_of, open_disk
from ingot.images.fault import ImageFault
from ingot.images.pipeline.bounds import Bounds
from ingot.images.pipeline.kept_tables import KeptTables
from ingot.images.pipeline.material import SEEKABLE, Material, none, of_stream
from ingot.images.pipeline.metered import Meter, MeteredBlob
from ingot.images.pipeline.options import ImportOptions
from ingot.images.pipeline.source import Source
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.settings import Settings
from ingot.images.zstd_chunked.pieces import Pieces
from ingot.images.zstd_chunked.remote import RemoteChunks

if TYPE_CHECKING:
    from ingot.images.pipeline.delta import LocalChunks


def open_container(source: Source, options: ImportOptions, bounds: Bounds, stack: ExitStack) -> Material:
    """In any order where the layer has a table of its chunks, else from its front. Raises ImageFault."""
    registry = stack.enter_context(Registry(options.settings or Settings.load()))
    image = registry.resolve(Reference.parse(source.place), options.platform)
    if options.checksum and options.checksum != str(image.digest):
        raise ImageFault(str(source), "WrongDigest", f"its manifest is {image.digest}, and not {options.checksum}")
    disk = open_container_disk(registry, image)
    identity = f"{image.digest}/{disk.layer.digest}"
    if disk.pieces is None:
        return of_stream(disk.blob, identity, options, bounds, digest=disk.layer.digest, layer=True)
    meter = Meter(options.rate)
    remote = KeptTables(RemoteChunks(MeteredBlob(disk.blob, meter), disk.blob), options.cache)
    near = _near(remote, options, stack)
    file = disk.content(near or remote)
    if (format := format_of(file)) not in SEEKABLE:
        return of_stream(disk.blob, identity, options, bounds, digest=disk.layer.digest, layer=True)
    content = open_disk(file, format, subject=str(source), limit=bounds.most)
    stack.callback(content.close)
    return Material(
        str(source),
        identity,
        meter,
        content=content,
        planned=remote.end,
        local=(lambda: near.found) if near else none,
        chunks=partial(_places, content, disk.pieces),
    )


def _near(remote: KeptTables, options: ImportOptions, stack: ExitStack) -> "LocalChunks | None":
    """What this machine has before the registry is asked; None where it has nothing."""
    if options.cache is None or not options.cache.is_dir():
        return None
    from ingot.images.pipeline.delta import LocalChunks

    return stack.enter_context(LocalChunks(remote, options.cache))


def _places(disk: Content, pieces: Pieces) -> Iterable[tuple[int, Chunk]]:
    from ingot.images.pipeline.delta import places

    return places(disk, pieces)
