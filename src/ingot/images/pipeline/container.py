"""Container disks in registries."""

from contextlib import ExitStack
from dataclasses import replace

from ingot.images.container_disk import open_container_disk
from ingot.images.disk import format_of, open_disk
from ingot.images.fault import ImageFault
from ingot.images.pipeline.bounds import Bounds
from ingot.images.pipeline.material import SEEKABLE, Material, of_stream
from ingot.images.pipeline.metered import Meter, MeteredBlob
from ingot.images.pipeline.options import ImportOptions
from ingot.images.pipeline.source import Source
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.settings import Settings


def open_container(source: Source, options: ImportOptions, bounds: Bounds, stack: ExitStack) -> Material:
    """In any order where the layer has a table of its chunks, else from its front. Raises ImageFault."""
    registry = stack.enter_context(Registry(options.settings or Settings.load()))
    image = registry.resolve(Reference.parse(source.place), options.platform)
    if options.checksum and options.checksum != str(image.digest):
        raise ImageFault(str(source), "WrongDigest", f"its manifest is {image.digest}, and not {options.checksum}")
    disk = open_container_disk(registry, image)
    identity = f"{image.digest}/{disk.layer.digest}"
    meter = Meter(options.rate)
    file = None if disk.pieces is None else replace(disk, blob=MeteredBlob(disk.blob, meter)).content()
    if file is None or (format := format_of(file)) not in SEEKABLE:
        return of_stream(disk.blob, identity, options, bounds, digest=disk.layer.digest, layer=True)
    content = open_disk(file, format, subject=str(source), limit=bounds.most)
    stack.callback(content.close)
    return Material(str(source), identity, meter, content=content)
