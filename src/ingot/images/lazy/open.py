"""Images in registries as disks that are fetched while they are read."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ingot.images.cache import Cache
from ingot.images.container_disk import ContainerDisk, open_container_disk
from ingot.images.content import Content, Extent, NotNear
from ingot.images.disk import open_disk
from ingot.images.lazy.ahead import Ahead
from ingot.images.lazy.budget import Budget
from ingot.images.lazy.chunks import LazyChunks
from ingot.images.lazy.first_contact import open_indexed
from ingot.images.lazy.flights import PATIENCE_SECONDS
from ingot.images.lazy.local_disks import LocalDisks
from ingot.images.lazy.memory import Memory, SharedMemory
from ingot.images.lazy.near import NearChunks
from ingot.images.lazy.pace import Pace
from ingot.images.lazy.table import ChunkTable
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import Platform
from ingot.images.zstd_chunked.position import Position
from ingot.images.zstd_chunked.remote import RemoteChunks

Progress = Callable[[int, int], None]

# A registry may be silent for this part of the patience of readers, so that a request fails before that is at its end;
# a busy one takes a second.
_SILENCES = 3
_LEAST_SILENCE = 1.0


@dataclass(frozen=True, slots=True)
class LazyOptions:
    """`begin`: whether what is fetched ahead of readers is so at once, or when `ahead` of the disk is told to.
    `follow`: whether that is what a boot reads, where it is known. `hydrate`: whether the rest comes in the
    background, at `pace`. `decode`: whether the disk in a qcow2 is shown, or its bytes. `patience`: how many seconds
    readers wait for a registry that is away. `disks`, `memory`: what it shares with other images of the process."""

    begin: bool = True
    follow: bool = True
    hydrate: bool = False
    pace: Pace = field(default_factory=Pace)
    decode: bool = True
    patience: float = PATIENCE_SECONDS
    disks: LocalDisks | None = None
    memory: SharedMemory | None = None


class LazyDisk:
    """A disk whose chunks come when they are read. Any number of threads may read.

    `near` is the same disk for those who do not want to wait: what is not in memory is NotNear.
    """

    def __init__(
        self, disk: ContainerDisk, content: Content, chunks: LazyChunks, ahead: Ahead, near: Content | None = None
    ) -> None:
        self.disk = disk
        self.chunks = chunks
        self.ahead = ahead
        self.near = near
        self._content = content

    @property
    def size(self) -> int:
        return self._content.size

    def readinto(self, start: int, buffer: memoryview) -> None:
        self._content.readinto(start, buffer)

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        return self._content.extents(start, end)

    def close(self) -> None:
        """Nobody may read any more."""
        self.ahead.stop()
        self.chunks.stop()
        self.ahead.join()
        self.chunks.close()
        self._content.close()


def _budget(disk: ContainerDisk) -> Budget:
    """What may be guessed is less by the table of the chunks, which nobody has asked for either."""
    budget = Budget()
    position, _ = Position.from_annotations(disk.blob.subject, disk.layer.annotations or {}, disk.blob.size)
    budget.charge(position.length)
    return budget


def open_lazy(
    registry: Registry,
    reference: Reference,
    cache: Cache,
    options: LazyOptions | None = None,
    *,
    platform: Platform | None = None,
    progress: Progress = lambda done, whole: None,
) -> LazyDisk:
    """The disk of an image, read lazily. Raises ImageFault.

    A layer that was not made for that is read once as a whole first, which `progress` is told, and is verified before
    a byte of it is given; from then on its index, beside the cache, makes it lazy.
    """
    chosen = options or LazyOptions()
    disk = open_container_disk(registry, registry.resolve(reference, platform))
    # Readers ask again by themselves, and are not to wait until the patience of an import is at its end.
    hasty = registry.hasty(max(chosen.patience / _SILENCES, _LEAST_SILENCE))
    blob = hasty.blob(disk.image.reference, disk.layer)
    memory = Memory(shared=chosen.memory)
    if disk.pieces is None:
        content, chunks = open_indexed(disk, blob, cache, progress, memory, chosen.patience)
    else:
        table = ChunkTable(disk.pieces.chunks())
        disks = chosen.disks or LocalDisks(cache.directory)
        remote, budget = RemoteChunks(blob), _budget(disk)
        chunks = LazyChunks(remote, table, cache, disks, budget=budget, memory=memory, patience=chosen.patience)
        content = disk.content(chunks)
    decode = None if chosen.decode else "raw"
    try:
        shown = open_disk(content, decode, subject=str(reference))
    except BaseException:
        chunks.close()
        raise
    near = None
    if disk.pieces is not None:
        with contextlib.suppress(NotNear):
            near = open_disk(disk.content(NearChunks(chunks)), decode, subject=str(reference))
    pace = chosen.pace if chosen.hydrate else None
    ahead = Ahead(registry, disk, chunks, cache, follow=chosen.follow, pace=pace)
    if chosen.begin:
        ahead.begin()
    return LazyDisk(disk, shown, chunks, ahead, near)
