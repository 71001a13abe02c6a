"""Images in registries as disks that are fetched while they are read."""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ingot.images.cache import Cache
from ingot.images.container_disk import ContainerDisk, open_container_disk
from ingot.images.content import Content, Extent, NotNear
from ingot.images.disk import open_disk
from ingot.images.fault import ImageFault
from ingot.images.lazy import trace
from ingot.images.lazy.budget import Budget
from ingot.images.lazy.chunks import LazyChunks
from ingot.images.lazy.first_contact import open_indexed
from ingot.images.lazy.flights import PATIENCE_SECONDS
from ingot.images.lazy.hydrate import Hydrator
from ingot.images.lazy.local_disks import LocalDisks
from ingot.images.lazy.near import NearChunks
from ingot.images.lazy.pace import Pace
from ingot.images.lazy.table import ChunkTable
from ingot.images.pipeline.delta import open_seeds
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import Platform
from ingot.images.zstd_chunked.position import Position
from ingot.images.zstd_chunked.remote import RemoteChunks

log = logging.getLogger(__name__)

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class LazyOptions:
    """`follow`: whether a trace that is attached to the image is fetched ahead of its readers. `hydrate`: whether the
    rest comes in the background, at `pace`. `decode`: whether the disk in a
    qcow2 is shown, or its bytes. `patience`: how many seconds readers wait for a registry that is away."""

    follow: bool = True
    hydrate: bool = False
    pace: Pace = field(default_factory=Pace)
    decode: bool = True
    patience: float = PATIENCE_SECONDS


class LazyDisk:
    """A disk whose chunks come when they are read. Any number of threads may read.

    `near` is the same disk for those who do not want to wait: what is not in memory is NotNear.
    """

    def __init__(
        self, disk: ContainerDisk, content: Content, chunks: LazyChunks, cache: Cache, near: Content | None = None
    ) -> None:
        self.disk = disk
        self.chunks = chunks
        self.near = near
        self._content = content
        self._cache = cache
        self._hydrator: Hydrator | None = None
        self._follower: threading.Thread | None = None

    @property
    def size(self) -> int:
        return self._content.size

    def readinto(self, start: int, buffer: memoryview) -> None:
        self._content.readinto(start, buffer)

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        return self._content.extents(start, end)

    @property
    def hydrated(self) -> bool:
        """Whether all of it is in the cache, as far as that goes. False where that was not asked for."""
        return self._hydrator is not None and self._hydrator.done.is_set()

    def begin(self, registry: Registry, options: LazyOptions) -> None:
        """Starts what goes on behind the readers."""
        self._follower = threading.Thread(target=self._ahead, args=(registry, options), name="ahead", daemon=True)
        self._follower.start()

    def _ahead(self, registry: Registry, options: LazyOptions) -> None:
        traced = self._trace(registry) if options.follow else None
        if traced is None:
            self.chunks.begin()
        else:
            self.chunks.follow(traced)
        if options.hydrate:
            self._hydrator = Hydrator(self.chunks, self._cache, options.pace)

    def _trace(self, registry: Registry) -> list[int] | None:
        """A trace is a hint: without it, and with a bad one, the disk is read all the same."""
        if self.disk.pieces is None:
            # Numbers of an index are those of one machine; a trace counts chunks that are the same everywhere.
            return None
        try:
            found = trace.find(registry, self.disk.image)
        except ImageFault as fault:
            log.warning("no trace is followed: %s", fault)
            return None
        same = found is not None and found.layer == str(self.disk.layer.digest)
        return found.numbers(len(self.chunks.table)) if found is not None and same else None

    def close(self) -> None:
        """Nobody may read any more."""
        if self._follower is not None:
            self._follower.join()
        if self._hydrator is not None:
            self._hydrator.close()
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
    if disk.pieces is None:
        content, chunks = open_indexed(disk, cache, progress, chosen.patience)
    else:
        table = ChunkTable(disk.pieces.chunks())
        disks = LocalDisks(open_seeds(cache.directory))
        chunks = LazyChunks(
            RemoteChunks(disk.blob), table, cache, disks, budget=_budget(disk), patience=chosen.patience
        )
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
    opened = LazyDisk(disk, shown, chunks, cache, near)
    opened.begin(registry, chosen)
    return opened
