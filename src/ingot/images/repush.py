"""A push of what is there already: the layer of the image that the tag stands for is taken instead of sent again."""

import hashlib
from collections.abc import Callable

from ingot.images.container_disk import open_container_disk
from ingot.images.content import Content, read
from ingot.images.fault import ImageFault
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import Descriptor, Platform
from ingot.images.zstd_chunked.pieces import Pieces


def same_layer(
    registry: Registry,
    file: Content,
    reference: Reference,
    platform: Platform,
    progress: Callable[[int, int], None],
) -> tuple[Descriptor, str] | None:
    """The layer and its diff id, if the image for that platform at the reference has exactly this file in chunks; else
    None."""
    try:
        image = registry.resolve(reference, platform)
        disk = open_container_disk(registry, image)
        rootfs = registry.config(image).rootfs
    except ImageFault:
        # What is there cannot be used; so it is not the same.
        return None
    if disk.pieces is None or len(image.manifest.layers) != 1 or rootfs is None or len(rootfs.diff_ids) != 1:
        return None
    return (disk.layer, rootfs.diff_ids[0]) if same_file(file, disk.pieces, progress) else None


def same_file(file: Content, pieces: Pieces, progress: Callable[[int, int], None]) -> bool:
    """Whether the file has these chunks; known at the first that differs."""
    if file.size != pieces.size:
        return False
    for index in range(len(pieces)):
        start, end = pieces.offsets[index], pieces.offsets[index + 1]
        data = read(file, start, end - start)
        chunk = pieces.chunk(index)
        if not (data.count(0) == len(data) if chunk is None else hashlib.sha256(data).digest() == chunk.digest):
            return False
        progress(end, pieces.size)
    return True
