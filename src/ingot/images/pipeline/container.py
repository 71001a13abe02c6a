"""Container disks in registries."""

from collections.abc import Iterable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from ingot.images.chunk import Chunk
from ingot.images.container_disk import open_container_disk
from ingot.images.content import Content
from ingot.images.digest import Digest
from ingot.images.disk import format_of, open_disk
from ingot.images.fault import ImageFault
from ingot.images.pipeline.bounds import Bounds
from ingot.images.pipeline.kept_tables import KeptTables
from ingot.images.pipeline.material import SEEKABLE, Material, of_stream
from ingot.images.pipeline.metered import Meter, MeteredBlob
from ingot.images.pipeline.options import ImportOptions
from ingot.images.pipeline.source import Source
from ingot.images.reference import Reference
from ingot.images.registry.client import Image, Registry
from ingot.images.registry.settings import Settings
from ingot.images.zstd_chunked.pieces import Pieces
from ingot.images.zstd_chunked.remote import RemoteChunks

if TYPE_CHECKING:
    from ingot.images.pipeline.delta import LocalChunks
    from ingot.images.pipeline.previous import Previous


def open_container(source: Source, options: ImportOptions, bounds: Bounds, stack: ExitStack) -> Material:
    """In any order where the layer has a table of its chunks, else from its front. Raises ImageFault."""
    wanted = Digest.parse(options.checksum.lower()) if options.checksum else None
    registry = stack.enter_context(Registry(options.settings or Settings.load()))
    image = registry.resolve(Reference.parse(source.place), options.platform)
    if wanted is not None:
        _check(image, wanted, source)
    disk = open_container_disk(registry, image)
    identity = f"{image.digest}/{disk.layer.digest}"
    if disk.pieces is None:
        return of_stream(disk.blob, identity, options, bounds, digest=disk.layer.digest, layer=True)
    meter = Meter(options.rate)
    remote = KeptTables(RemoteChunks(MeteredBlob(disk.blob, meter), disk.blob), options.cache)
    previous = _previous(options, stack)
    near = _near(remote, previous, options, stack)
    file = disk.content(near or remote)
    if (format := format_of(file)) not in SEEKABLE:
        return of_stream(disk.blob, identity, options, bounds, digest=disk.layer.digest, layer=True)
    content = open_disk(file, format, subject=str(source), limit=bounds.most)
    stack.callback(content.close)
    chunks = partial(_places, content, disk.pieces)

    def planned() -> None:
        remote.end()
        if previous is not None:
            previous.expect(chunks())

    return Material(
        str(source), identity, meter, content=content, format=format, planned=planned, near=near, chunks=chunks
    )


def _check(image: Image, wanted: Digest, source: Source) -> None:
    """Raises ImageFault where neither the image nor the index that it was chosen from has that digest."""
    if wanted == image.digest or (image.index is not None and wanted == image.index.digest):
        return
    index = f", and its index {image.index.digest}" if image.index is not None else ""
    raise ImageFault(str(source), "WrongDigest", f"its manifest is {image.digest}{index}, and not {wanted}")


def _previous(options: ImportOptions, stack: ExitStack) -> "Previous | None":
    """The disk of the version before, where there is one."""
    if options.previous is None:
        return None
    from ingot.images.pipeline.previous import open_previous

    return stack.enter_context(open_previous(options.previous, device=options.previous_device))


def _near(
    remote: KeptTables, previous: "Previous | None", options: ImportOptions, stack: ExitStack
) -> "LocalChunks | None":
    """What this machine has before the registry is asked; None where it has nothing."""
    cache = options.cache if options.cache is not None and options.cache.is_dir() else None
    if cache is None and previous is None:
        return None
    from ingot.images.cache import Cache
    from ingot.images.pipeline.delta import LocalChunks, open_seeds

    if cache is None:
        return LocalChunks(remote, previous, None, None)
    return LocalChunks(remote, previous, stack.enter_context(open_seeds(cache)), Cache(cache))


def _places(disk: Content, pieces: Pieces) -> Iterable[tuple[int, Chunk]]:
    from ingot.images.pipeline.delta import places

    return places(disk, pieces)
