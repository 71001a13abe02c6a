"""What an update costs: the bytes that move when one version of an image is here and another is wanted."""

from dataclasses import dataclass

from ingot.images.container_disk import ContainerDisk, open_container_disk
from ingot.images.registry.client import Image, Registry
from ingot.images.zstd_chunked.position import Position


@dataclass(frozen=True, slots=True)
class Difference:
    """Of the `chunks` of the new disk, `changed` are not in the old one: they have `size` bytes, and `compressed` on
    the way. `table` and `metadata` (manifest and configuration) come with every update. Without chunks the whole
    layer moves, and `changed` is None."""

    chunks: int
    changed: int | None
    size: int
    compressed: int
    table: int
    metadata: int

    @property
    def moved(self) -> int:
        """All bytes of the update."""
        return self.compressed + self.table + self.metadata


def compare(registry: Registry, old: Image, new: Image) -> Difference:
    """Raises ImageFault. Only tables are read."""
    metadata = len(new.raw) + new.manifest.config.size
    if old.digest == new.digest:
        return Difference(0, 0, 0, 0, 0, 0)
    before, after = open_container_disk(registry, old), open_container_disk(registry, new)
    if before.layer.digest == after.layer.digest:
        return Difference(0 if after.pieces is None else len(list(after.pieces.chunks())), 0, 0, 0, 0, metadata)
    if before.pieces is None or after.pieces is None:
        return Difference(0, None, after.layer.size, after.layer.size, 0, metadata)
    known = {chunk.digest for chunk in before.pieces.chunks()}
    wanted = {chunk.digest: chunk for chunk in after.pieces.chunks()}
    changed = [chunk for digest, chunk in wanted.items() if digest not in known]
    return Difference(
        chunks=len(wanted),
        changed=len(changed),
        size=sum(chunk.size for chunk in changed),
        compressed=sum(chunk.end - chunk.start for chunk in changed),
        table=_table(after),
        metadata=metadata,
    )


def _table(disk: ContainerDisk) -> int:
    position, _ = Position.from_annotations(disk.blob.subject, disk.layer.annotations or {}, disk.blob.size)
    return position.length
