"""A push of what is there already: the layer of an image that has it is taken instead of sent again."""

import hashlib
from collections.abc import Callable, Iterable, Iterator

from ingot.images.container_disk import ContainerDisk, open_container_disk
from ingot.images.content import Content, read
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import Platform
from ingot.images.zeros import is_zeros
from ingot.images.zstd_chunked.pieces import Pieces
from ingot.images.zstd_chunked.writer import LayerWriter

# Each costs the table of an image.
_MOST_TAGS = 8


def same_layer(
    registry: Registry,
    file: Content,
    places: Iterable[Reference],
    platform: Platform,
    writer: LayerWriter,
    progress: Callable[[int, int], None],
) -> tuple[Digest, Reference] | None:
    """The digest of the layer, and which of `places` has it, if the image for that platform at one of them has the very
    one that `writer` makes of the file; else None. The writer has been iterated over where there is a layer.

    That its table lists the chunks of the file says nothing of the other bytes of a layer that somebody else may have
    pushed. So the table only tells whether it is worth the work to make the layer, without sending it, and to compare
    digests.
    """
    made: Digest | None = None
    seen: set[Digest] = set()
    for place in places:
        disk = _open(registry, place, platform)
        if disk is None or disk.pieces is None or disk.layer.digest in seen:
            continue
        seen.add(disk.layer.digest)
        if same_file(file, disk.pieces, progress):
            made = made or _make(writer)
            if made == disk.layer.digest:
                return made, place
    return None


def candidates(registry: Registry, reference: Reference, others: Iterable[Reference]) -> Iterator[Reference]:
    """Where a layer may be that is pushed to `reference`: its tag, other tags of its repository, and those of `others`,
    which are in the same registry."""
    yield reference
    for repository in (reference, *others):
        try:
            tags = [tag for tag in registry.tags(repository) if not tag.startswith("sha256-")]
        except ImageFault:
            # It is new, or we may not look into it.
            continue
        # Versions are usually named in the order in which they were made.
        yield from (repository.tagged(tag) for tag in tags[: -_MOST_TAGS - 1 : -1])


def _open(registry: Registry, reference: Reference, platform: Platform) -> ContainerDisk | None:
    try:
        image = registry.resolve(reference, platform)
        return open_container_disk(registry, image) if len(image.manifest.layers) == 1 else None
    except ImageFault:
        # What is there cannot be used; so it is not the same.
        return None


def _make(writer: LayerWriter) -> Digest:
    hasher = hashlib.sha256()
    for data in writer:
        hasher.update(data)
    return Digest("sha256", hasher.hexdigest())


def same_file(file: Content, pieces: Pieces, progress: Callable[[int, int], None]) -> bool:
    """Whether the file has these chunks; known at the first that differs."""
    if file.size != pieces.size:
        return False
    for index in range(len(pieces)):
        start, end = pieces.offsets[index], pieces.offsets[index + 1]
        chunk = pieces.chunk(index)
        if chunk is None:
            same = is_zeros(file, start, end)
        else:
            same = hashlib.sha256(read(file, start, chunk.size)).digest() == chunk.digest
        if not same:
            return False
        progress(end, pieces.size)
    return True
