"""VolumeSnapshots and their classes, which a cluster has only if somebody installed them."""

import asyncio
import logging
from weakref import WeakKeyDictionary

from ingot.api.object import Object, name_of
from ingot.api.resources import SNAPSHOT_CLASSES, SNAPSHOTS
from ingot.api.status import ApiError
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.controller import Controller, Mapper
from ingot.kube.informer import Informer
from ingot.kube.manager import Manager
from ingot.kube.transport import ConnectionFailed

log = logging.getLogger(__name__)

# How often it is asked whether the kinds have been installed.
_LOOK_SECONDS = 30.0
# How long caches may take to fill where the kinds are there.
_SYNC_SECONDS = 30.0
_DEFAULT = "snapshot.storage.kubernetes.io/is-default-class"


class SnapshotKinds:
    """Caches of both kinds, empty while the server does not have them: no controller waits for those to come."""

    def __init__(self, manager: Manager, clock: Clock = SYSTEM) -> None:
        self._client = manager.client
        self._clock = clock
        self._settled = asyncio.Event()
        self.snapshots = Informer(manager.client, SNAPSHOTS)
        self.classes = Informer(manager.client, SNAPSHOT_CLASSES)
        manager.serve(self._run)

    async def settled(self) -> None:
        """Returns when it is known whether the server has the kinds, and what it has of them."""
        await self._settled.wait()

    @property
    def are_served(self) -> bool:
        """Whether the server has the kinds, and the caches are full."""
        return self.snapshots.has_synced and self.classes.has_synced

    def wake(self, controller: Controller, mapper: Mapper) -> None:
        """Let the controller begin when it is known what there is, and look at what `mapper` gives for a snapshot."""
        controller.after(self.settled)

        def enqueue(old: Object | None, new: Object | None) -> None:
            for key in dict.fromkeys(key for obj in (old, new) if obj for key in mapper(obj)):
                controller.queue.add(key)

        self.snapshots.add_handler(enqueue)

    def class_for(self, driver: str) -> tuple[str, str]:
        """The class of snapshots for volumes of that provisioner, and "" or why there is none to choose."""
        found = sorted((each for each in self.classes.cache.list() if each.get("driver") == driver), key=name_of)
        default = [each for each in found if (each["metadata"].get("annotations") or {}).get(_DEFAULT) == "true"]
        if len(found) == 1 or len(default) == 1:
            return name_of((default or found)[0]), ""
        if not found:
            return "", f"there is no VolumeSnapshotClass with driver {driver}: create one"
        names = ", ".join(map(name_of, found))
        return "", f"{len(found)} VolumeSnapshotClasses have driver {driver} ({names}): annotate one with {_DEFAULT}"

    async def _run(self) -> None:
        while not await self._is_installed():
            await self._clock.sleep(_LOOK_SECONDS)
        async with asyncio.TaskGroup() as group:
            group.create_task(self.snapshots.run())
            group.create_task(self.classes.run())
            await self._wait_synced()

    async def _wait_synced(self) -> None:
        """Who may not read the kinds works as if there were none."""
        try:
            async with asyncio.timeout(_SYNC_SECONDS):
                await self.snapshots.wait_synced()
                await self.classes.wait_synced()
        except TimeoutError:
            log.warning("%s cannot be read: volumes are cloned without snapshots", SNAPSHOTS.group)
        self._settled.set()

    async def _is_installed(self) -> bool:
        try:
            served = await self._client.call("GET", f"/apis/{SNAPSHOTS.api_version}")
        except ConnectionFailed:
            # Then nobody can work, and others say so.
            return False
        except ApiError as error:
            if error.code == 404:
                self._settled.set()
            return False
        names = {each.get("name") for each in served.get("resources") or ()}
        if {SNAPSHOTS.plural, SNAPSHOT_CLASSES.plural} <= names:
            return True
        self._settled.set()
        return False


_kinds: WeakKeyDictionary[Manager, SnapshotKinds] = WeakKeyDictionary()


def snapshot_kinds(manager: Manager, clock: Clock = SYSTEM) -> SnapshotKinds:
    """Those of the manager: always the same, to be asked for before it runs."""
    if manager not in _kinds:
        _kinds[manager] = SnapshotKinds(manager, clock)
    return _kinds[manager]
