"""A push of what is there already: the layer of the image that the tag stands for is taken instead of sent again."""

import hashlib
from collections.abc import Callable

from ingot.images.container_disk import open_container_disk
from ingot.images.content import Content, read
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import Platform
from ingot.images.zstd_chunked.pieces import Pieces
from ingot.images.zstd_chunked.writer import LayerWriter


def same_layer(
    registry: Registry,
    file: Content,
    reference: Reference,
    platform: Platform,
    writer: LayerWriter,
    progress: Callable[[int, int], None],
) -> tuple[Digest, int] | None:
    """Digest and size of the layer, if the image for that platform at the reference has the very one that `writer`
    makes of the file; else None. The writer has been iterated over where there is a layer.

    That its table lists the chunks of the file says nothing of the other bytes of a layer that somebody else may have
    pushed. So the table only tells whether it is worth the work to make the layer, without sending it, and to compare
    digests.
    """
    try:
        image = registry.resolve(reference, platform)
        disk = open_container_disk(registry, image)
    except ImageFault:
        # What is there cannot be used; so it is not the same.
        return None
    if disk.pieces is None or len(image.manifest.layers) != 1 or not same_file(file, disk.pieces, progress):
        return None
    hasher, size = hashlib.sha256(), 0
    for data in writer:
        hasher.update(data)
        size += len(data)
    digest = Digest("sha256", hasher.hexdigest())
    return (digest, size) if digest == disk.layer.digest else None


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
