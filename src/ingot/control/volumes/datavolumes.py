"""DataVolume: a claim that is filled by a populator, and how that fares (G1)."""

from dataclasses import replace

from ingot.api.cdi import names
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resource import Resource
from ingot.api.resources import DATA_SOURCES, DATA_VOLUMES, STORAGE_CLASSES, VOLUME_CLAIMS
from ingot.control.outfit import OF_ONE_MACHINE, Outfit
from ingot.control.owning import is_owned
from ingot.control.volumes import adoption, claim, events, source, status
from ingot.control.volumes.fault import VolumeFault
from ingot.control.volumes.hindrance import Hindrances
from ingot.control.volumes.maker import Maker
from ingot.control.volumes.marks import annotation, is_bound, phase_of
from ingot.control.volumes.status import Seen
from ingot.control.writing import live
from ingot.kube.cache import Key, key_of
from ingot.kube.change import patch_status
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.controller import Controller, Result
from ingot.kube.events import Recorder
from ingot.kube.manager import Manager
from ingot.kube.objects import copy_of, is_deleting

_OPEN = "open"


def _open(volume: Object) -> list[str]:
    """Those that have not ended, and may wait for something else than their claim."""
    return [] if phase_of(volume) in (status.SUCCEEDED, status.FAILED) else [_OPEN]


class DataVolumes:
    """The controller. It makes claims and what tells populators how to fill them, and reads the rest off the claim.

    Succeeded and Failed are final, except that a claim which was filled here and is gone is made and filled anew; that
    of a clone from another namespace is not.
    """

    def __init__(self, manager: Manager, clock: Clock = SYSTEM, outfit: Outfit = OF_ONE_MACHINE) -> None:
        self._client = manager.client
        self._clock = clock
        self._events = Recorder(manager.client, "datavolume-controller")
        self._volumes = manager.informer(DATA_VOLUMES)
        self._claims = manager.informer(VOLUME_CLAIMS)
        self._data_sources = manager.informer(DATA_SOURCES)
        self._classes = manager.informer(STORAGE_CLASSES)
        self._maker = Maker(manager, clock, outfit)
        self._hindrances = Hindrances(manager)
        self._volumes.cache.add_index(_OPEN, _open)
        manager.serve(self._events.run)
        controller = (
            Controller("datavolume", self.reconcile, workers=8, clock=clock)
            .watch(self._volumes)
            # By name, not by owner: a claim that is in the way is looked at again when it goes.
            .watch(self._claims)
            .watch(self._claims, self._on_origin)
            .watch(self._data_sources, self._on_data_source)
            .watch(self._classes, lambda _: [key_of(volume) for volume in self._waiting()])
            .own(self._maker.detection.pods, owner=DATA_VOLUMES)
            # Read, not followed: no pod is made before they are full.
            .watch(self._maker.detection.configs, lambda _: ())
        )
        self._maker.detection.listen(controller.queue.add)
        self._hindrances.listen(controller)
        for informer in self._maker.sources.values():
            controller.own(informer, owner=DATA_VOLUMES)
        manager.add(controller)

    def _waiting(self) -> list[Object]:
        return self._volumes.cache.by_index(_OPEN, _OPEN)

    def _on_origin(self, found: Object) -> list[Key]:
        cloned = VOLUME_CLAIMS, key_of(found)
        return [key_of(volume) for volume in self._waiting() if self._origin_key(volume) == cloned]

    def _origin_key(self, volume: Object) -> tuple[Resource, Key] | None:
        try:
            return source.origin_of(source.resolve(volume, self._data_sources.cache) or {})
        except VolumeFault:
            return None

    def _on_data_source(self, found: Object) -> list[Key]:
        hanging = (each for each in self._waiting() if key_of(found) in source.links(each, self._data_sources.cache))
        return [key_of(volume) for volume in hanging]

    async def reconcile(self, key: Key) -> Result | None:
        volume = self._volumes.cache.get(key)
        if volume is None or is_deleting(volume):
            self._maker.detection.forget(key)
            return None
        if phase_of(volume) == status.FAILED:
            # Here and not where that is told, for who told it may have died right after.
            await self._maker.detection.clear(volume)
            return None
        try:
            volume = await self._maker.noted(volume)
        except VolumeFault as fault:
            seen = self._begun(volume, fault)
        else:
            seen = await self._looked(volume)
        if seen.claim is not None and seen.filled:
            volume = await adoption.remember(self._client, volume, seen.claim)
        if seen.claim is None and status.failure_of(seen):
            # Before that is told, after which nobody looks at it any more.
            await self._maker.remove(volume)
        await self._finish(await self._tell(volume, seen), seen)
        return Result(seen.fault.retry) if seen.fault and seen.fault.retry else None

    def _begun(self, volume: Object, fault: VolumeFault) -> Seen:
        """How far its claim is for which nothing may be made at this moment."""
        known = self._claims.cache.get(key_of(volume))
        if known is None or is_deleting(known) or not is_owned(known, volume):
            return Seen(fault=fault)
        return replace(self._seen(volume, known), fault=fault)

    async def _looked(self, volume: Object) -> Seen:
        try:
            return await self._look(volume)
        except VolumeFault as fault:
            return Seen(fault=fault)

    async def _look(self, volume: Object) -> Seen:
        """Make the claim if there is none, and say how things are. Raises VolumeFault for what is in the way."""
        known = self._claims.cache.get(key_of(volume))
        if known is not None and adoption.is_released(volume, known):
            return Seen(claim=known, operation=source.populator_of(known), filled=True)
        ended = phase_of(volume) == status.SUCCEEDED and source.is_elsewhere(volume, self._data_sources.cache)
        if ended:
            known = known or await live(self._client, VOLUME_CLAIMS, name_of(volume), namespace_of(volume))
            adoption.check_asked(volume, known)
        try:
            found = await adoption.taken(self._client, volume, known or await self._maker.made(volume))
        except VolumeFault as fault:
            fault.phase = status.SUCCEEDED if ended else fault.phase
            raise
        if known is not None:
            found = await self._maker.hastened(volume, found)
            await self._maker.check(volume, found)
        return self._seen(volume, found, ended=ended)

    def _seen(self, volume: Object, found: Object, *, ended: bool = False) -> Seen:
        return Seen(
            claim=found,
            operation=source.populator_of(found),
            # What anybody may write on the claim does not make it unfilled again.
            filled=adoption.is_filled(volume, found) or (ended and is_bound(found)),
            ended=ended,
            waits=claim.waits_for_consumer(found, self._classes.cache),
            fault=self._hindrances.of(found),
        )

    async def _tell(self, volume: Object, seen: Seen) -> Object:
        told = copy_of(volume)
        status.write(told, seen, self._clock.time())
        written = await patch_status(self._client, DATA_VOLUMES, volume, told)
        events.record(self._events, volume, told, seen)
        return written

    async def _finish(self, volume: Object, seen: Seen) -> None:
        """Remove what is of no use any more."""
        if seen.claim is None:
            return
        await self._maker.detection.clear(volume)
        if phase_of(volume) != status.SUCCEEDED:
            return
        await self._maker.clear(volume)
        if annotation(volume, names.DELETE_WHEN_DONE) == "true":
            await adoption.release(self._client, volume, seen.claim)
