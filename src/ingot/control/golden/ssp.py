"""SSP: common templates, the DataSources that they name, and crons for those that are to stay fresh (G5)."""

from collections.abc import Iterable
from typing import Final

from ingot.api.object import Object, namespace_of
from ingot.api.resource import Resource
from ingot.api.resources import SSPS
from ingot.control.golden import belonging, common, ssp_status
from ingot.control.golden.freshness import PAUSED, Freshness, is_common
from ingot.control.golden.furnishing import Furnishing
from ingot.control.golden.keeper import Keeper
from ingot.control.writing import change, delete
from ingot.kube.cache import Key, key_of
from ingot.kube.change import patch_status
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.controller import Controller, Result
from ingot.kube.manager import Manager
from ingot.kube.objects import add_finalizer, copy_of, has_finalizer, is_deleting, remove_finalizer

FINALIZER: Final = "finalize.ssp.kubevirt.io"
# How soon it is looked again when others were quicker: by then caches have caught up.
_LATE_SECONDS: Final = 0.2
# Of one that is deleted with `--cascade=orphan`: what it owns stays.
_ORPHAN: Final = "orphan"


class SSPs:
    """The controller. A cluster has one SSP: of several the oldest counts, and the others say so."""

    def __init__(self, manager: Manager, clock: Clock = SYSTEM) -> None:
        self._client = manager.client
        self._clock = clock
        self._ssps = manager.informer(SSPS)
        self._freshness = Freshness(manager)
        self._furnishing = Furnishing(manager)
        controller = (
            Controller("ssp", self.reconcile, clock=clock)
            .watch(self._ssps, self._on_any)
            .watch(self._furnishing.namespaces, self._on_any)
            .watch(self._freshness.claims, self._on_image)
            .watch(self._freshness.sources, self._on_image)
            .watch(self._freshness.crons, self._on_cron)
        )
        for informer in (self._furnishing.roles, self._furnishing.bindings):
            # Of any SSP: what the last one had is put there anew by the next.
            controller.watch(informer, self._on_any)
        manager.add(controller.watch(self._furnishing.templates, belonging.owners))

    def _on_any(self, _: Object) -> list[Key]:
        return [key_of(each) for each in self._ssps.cache.list()]

    def _on_image(self, obj: Object) -> Iterable[Key]:
        return self._on_any(obj) if is_common(obj) else belonging.owners(obj)

    def _on_cron(self, cron: Object) -> Iterable[Key]:
        """Of all crons of a cluster only those that the SSP made, or that follow one of its DataSources, concern it."""
        yield from belonging.owners(cron)
        if namespace_of(cron) == common.NAMESPACE and cron["spec"]["managedDataSource"] in common.sources():
            yield from self._on_any(cron)

    async def reconcile(self, key: Key) -> Result | None:
        ssp = self._ssps.cache.get(key)
        if ssp is None:
            await self._forget(key)
            return None
        if is_deleting(ssp):
            return await self._end(ssp)
        told = copy_of(ssp)
        if (ssp["metadata"].get("annotations") or {}).get(PAUSED) == "true":
            ssp_status.paused(told)
        elif (first := self._first()) != key:
            ssp_status.superseded(told, str(first), self._clock.time())
        else:
            return await self._install(ssp)
        await patch_status(self._client, SSPS, ssp, told)
        return None

    def _first(self) -> Key | None:
        """The SSP that counts. One that is deleted has not ended yet, and would take away what the next one makes."""
        ages = [(each["metadata"]["creationTimestamp"], key_of(each)) for each in self._ssps.cache.list()]
        return min(ages)[1] if ages else None

    async def _install(self, ssp: Object) -> Result | None:
        ssp = await change(self._client, SSPS, ssp, lambda each: add_finalizer(each, FINALIZER))
        keeper = Keeper(self._client)
        await self._furnishing.open(keeper, ssp)
        await self._freshness.keep(keeper, ssp)
        await self._furnishing.keep_templates(keeper, ssp)
        if keeper.is_late:
            return Result(_LATE_SECONDS)
        told = copy_of(ssp)
        ssp_status.deployed(told, keeper.problems, self._clock.time())
        await patch_status(self._client, SSPS, ssp, told)
        return Result(ssp_status.RETRY_SECONDS) if keeper.problems else None

    async def _end(self, ssp: Object) -> Result | None:
        """Take away what it made: crons first, which would move DataSources. Owner references do their part later."""
        if not has_finalizer(ssp, FINALIZER):
            return None
        told = copy_of(ssp)
        ssp_status.deleting(told, self._clock.time())
        ssp = await patch_status(self._client, SSPS, ssp, told)
        orphaned = has_finalizer(ssp, _ORPHAN)
        if not await self._freshness.end(ssp, orphaned=orphaned):
            return None
        if await self._freshness.has_left(ssp):
            return Result(_LATE_SECONDS)
        furnished = (self._furnishing.templates, self._furnishing.roles, self._furnishing.bindings)
        for informer in (self._freshness.sources, *furnished):
            for obj in informer.cache.list():
                if belonging.is_of(obj, ssp) and namespace_of(obj) != namespace_of(ssp):
                    await self._give_up(informer.resource, obj, ssp, orphaned=orphaned)
        await change(self._client, SSPS, ssp, lambda each: remove_finalizer(each, FINALIZER))
        return None

    async def _give_up(self, resource: Resource, obj: Object, ssp: Object, *, orphaned: bool) -> None:
        """Delete what only annotations bind to the SSP, unless it has owners who keep it."""
        if orphaned or belonging.others(obj, ssp):
            await change(self._client, resource, obj, lambda each: belonging.let_go(each, ssp))
        else:
            await delete(self._client, resource, obj)

    async def _forget(self, key: Key) -> None:
        """Of an SSP whose finalizer somebody took away: its crons are not held for ever."""
        for cron in self._freshness.crons.cache.list():
            if is_deleting(cron) and key in belonging.owners(cron):
                await self._freshness.let_go(cron)
