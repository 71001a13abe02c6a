"""How much room storage has left: the directory of one machine's volumes, and what drivers tell of a cluster's (G9)."""

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ingot.api.object import Object, name_of
from ingot.api.quantity import QuantityError, whole
from ingot.api.resource import Resource
from ingot.api.resources import STORAGE_CLASSES
from ingot.api.status import ApiError
from ingot.control.monitoring.family import Family, gauge
from ingot.control.volumes.claim import is_local
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.manager import Manager
from ingot.kube.transport import ConnectionFailed

log = logging.getLogger(__name__)

# Where drivers tell how much they can still provision.
CAPACITIES = Resource("storage.k8s.io", "v1", "csistoragecapacities", "CSIStorageCapacity")
_LOOK_SECONDS = 60.0
_LABELS = ("storageclass", "node")


@dataclass(frozen=True, slots=True)
class Pool:
    """The directory in which volumes of one machine lie, and the name of its node."""

    directory: Path
    node: str


class StorageFigures:
    """Room by StorageClass and node; a cluster's drivers name the free room only, if that."""

    def __init__(self, manager: Manager, pool: Pool | None = None, clock: Clock = SYSTEM) -> None:
        self._client = manager.client
        self._classes = manager.informer(STORAGE_CLASSES)
        self._pool = pool
        self._clock = clock
        self._told: list[tuple[tuple[str, str], float]] = []
        if pool is None:
            manager.serve(self.follow)

    def families(self) -> Iterator[Family]:
        capacity, free = (
            gauge(f"ingot_storage_{name}_bytes", doc, _LABELS)
            for name, doc in (
                ("capacity", "Room for volumes in all, where that is known"),
                ("free", "Room that is left for volumes"),
            )
        )
        for labels, left in self._told:
            free.add_metric(labels, left)
        if self._pool is not None:
            found = os.statvfs(self._pool.directory)
            for storage_class in filter(is_local, self._classes.cache.list()):
                labels = name_of(storage_class), self._pool.node
                capacity.add_metric(labels, found.f_blocks * found.f_frsize)
                free.add_metric(labels, found.f_bavail * found.f_frsize)
        yield from (capacity, free)

    async def follow(self) -> None:
        """Look what drivers tell, until cancelled: few do, and none needs to be heard at once, as in a watch."""
        while True:
            try:
                listed = await self._client.list(CAPACITIES)
                self._told = [row for each in listed["items"] if (row := _row(each))]
            except (ApiError, ConnectionFailed) as error:
                # An old server has no such kind, and no driver that tells.
                known = isinstance(error, ApiError) and error.code == 404
                level = logging.DEBUG if known else logging.WARNING
                log.log(level, "%s: %s; the room that drivers have left is not known", CAPACITIES.plural, error)
                self._told = []
            await self._clock.sleep(_LOOK_SECONDS)


def _row(capacity: Object) -> tuple[tuple[str, str], float] | None:
    """Of one that says how much there is; the node, or whatever else the driver tells places apart by."""
    try:
        left = whole(capacity["capacity"])
    except (KeyError, QuantityError):
        return None
    places = ((capacity.get("nodeTopology") or {}).get("matchLabels") or {}).values()
    return (str(capacity.get("storageClassName", "")), ",".join(sorted(map(str, places)))), left
