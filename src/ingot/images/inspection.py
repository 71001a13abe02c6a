"""What an image is: platforms, labels, layers, the disk in it, and how much of that is on this machine."""

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ingot.images.boot.hint import foretold
from ingot.images.chunk import Chunk
from ingot.images.container_disk import ContainerDisk, open_container_disk
from ingot.images.content import read
from ingot.images.digest import Digest
from ingot.images.disk import open_disk
from ingot.images.fault import ImageFault
from ingot.images.qcow2.header import virtual_size
from ingot.images.registry.client import Image, Registry
from ingot.images.registry.manifest import Descriptor, Index
from ingot.images.sniff import HEAD, sniff
from ingot.images.zstd_chunked.pieces import Pieces


@dataclass(frozen=True, slots=True)
class ChunkFigures:
    """Chunks of the file with the disk, or some of them: how many, those of them that differ from each other, their
    bytes as they are moved. `here` and `here_bytes` are what this machine has of them."""

    count: int
    distinct: int
    compressed: int
    here: int
    here_bytes: int


@dataclass(frozen=True, slots=True)
class Here:
    """What this machine has: whether it has the chunk of a digest, and an index of the layer of a digest."""

    chunk: Callable[[bytes], bool]
    index: Callable[[Digest], bool]


@dataclass(frozen=True, slots=True)
class DiskFigures:
    """The disk: in the file `name` of `file_size` bytes and a `format`; `how` it is read: `chunked`, `indexed` where
    this machine has an index of its layer, or `stream`. `data` are its bytes that are not holes. `boot` are the chunks
    that a boot reads as the image says, if it says that. What cannot be known without reading all of the layer is
    None."""

    name: str
    format: str
    how: str
    file_size: int
    size: int | None
    data: int | None
    chunks: ChunkFigures | None
    boot: ChunkFigures | None


@dataclass(frozen=True, slots=True)
class Inspection:
    image: Image
    platforms: list[str]
    labels: dict[str, str]
    layers: list[Descriptor]
    disk: DiskFigures


def inspect_image(registry: Registry, image: Image, here: Here) -> Inspection:
    """Reads tables and headers only; of a layer without a table, the beginning. Raises ImageFault."""
    config = registry.config(image)
    if image.index is not None and isinstance(image.index.parsed, Index):
        platforms = [str(each.platform) for each in image.index.parsed.manifests if each.platform]
    else:
        platforms = ["/".join(part for part in (config.os, config.architecture, config.variant) if part)]
    disk = open_container_disk(registry, image)
    figures = _streamed(disk, here) if disk.pieces is None else _chunked(disk, disk.pieces, here)
    return Inspection(image, platforms, config.labels, image.manifest.layers, figures)


def _chunked(disk: ContainerDisk, pieces: Pieces, here: Here) -> DiskFigures:
    file = disk.content()
    kind = sniff(bytes(read(file, 0, min(HEAD, file.size))))
    chunks, boot = _count(pieces.chunks(), here), _boot(disk, pieces, here)
    if kind not in ("qcow2", "raw", "iso"):
        return DiskFigures(disk.name, kind, disk.how, file.size, None, None, chunks, boot)
    content = open_disk(file, "qcow2" if kind == "qcow2" else "raw", subject=disk.blob.subject)
    data = sum(extent.length for extent in content.extents(0, content.size) if extent.data)
    return DiskFigures(disk.name, kind, disk.how, file.size, content.size, data, chunks, boot)


def _boot(disk: ContainerDisk, pieces: Pieces, here: Here) -> ChunkFigures | None:
    # Who wrote nonsense there has said nothing: it is a hint.
    with contextlib.suppress(ImageFault):
        if chunks := foretold(disk.layer, pieces):
            return _count(chunks, here)
    return None


def _count(these: Iterable[Chunk], here: Here) -> ChunkFigures:
    chunks = list(these)
    distinct = {chunk.digest: chunk.end - chunk.start for chunk in chunks}
    found = [size for digest, size in distinct.items() if here.chunk(digest)]
    return ChunkFigures(len(chunks), len(distinct), sum(distinct.values()), len(found), sum(found))


def _streamed(disk: ContainerDisk, here: Here) -> DiskFigures:
    with disk.stream() as stream:
        head = stream.head(HEAD)
        member = stream.member
    if member is None:
        raise ImageFault(disk.blob.subject, "NoDisk", "it has no regular file in disk/, as a container disk has")
    kind = sniff(head)
    size = member.size if kind in ("raw", "iso") else virtual_size(head, disk.blob.subject) if kind == "qcow2" else None
    how = "indexed" if here.index(disk.layer.digest) else disk.how
    return DiskFigures(member.name, kind, how, member.size, size, None, None, None)
