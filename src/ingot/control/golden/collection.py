"""Garbage collection: imports that newer ones have replaced go, and never one that somebody needs."""

from dataclasses import dataclass, field
from typing import Final

from ingot.api.object import Object
from ingot.api.resources import DATA_VOLUMES, VOLUME_CLAIMS
from ingot.control.golden.holders import Holders
from ingot.control.golden.imports import Import
from ingot.control.golden.links import target_of
from ingot.control.golden.moments import moment
from ingot.control.golden.rivals import managed_by
from ingot.control.golden.wanted import Wanted
from ingot.control.writing import delete
from ingot.kube.cache import Key
from ingot.kube.client import Client
from ingot.kube.clock import Clock
from ingot.kube.events import Recorder

# CDI's number.
_KEPT = 3
# How long the DataSource must have been elsewhere: a clone that was begun before it moved is known by then.
GRACE_SECONDS: Final = 10.0
# How soon it is looked whether a pod has gone: pods of strangers are not followed.
POD_SECONDS: Final = 60.0


def outdated(cron: Object, wanted: Wanted, link: Object, imports: list[Import]) -> list[Import]:
    """The imports beyond the versions that are to be kept, of those that are complete, or were: what has failed since
    last, and before that the oldest. Nothing where the DataSource is elsewhere."""
    ready = [each for each in imports if each.is_ready]
    current = next((each for each in ready if each.key == target_of(link)), None)
    if cron["spec"].get("garbageCollect") == "Never" or current is None:
        return []
    others = [each for each in imports if each.is_version and each is not current and not wanted.is_met_by(each)]
    others.sort(key=lambda each: (not each.has_failed, each.last_use, each.name), reverse=True)
    versions = _versions(wanted, others)
    for served in [current, *(each for each in ready if wanted.is_met_by(each))]:
        versions.pop(served.digest, None)
    # The one that the DataSource stands for is kept whatever the number says.
    kept = list(versions.values())[: max(cron["spec"].get("importsToKeep", _KEPT) - 1, 0)]
    return [each for each in others if each not in kept]


def _versions(wanted: Wanted, imports: list[Import]) -> dict[str, Import]:
    """One import for each digest, in order: of copies in several StorageClasses the one in the class that is wanted."""
    found: dict[str, Import] = {}
    for each in imports:
        known = found.setdefault(each.digest, each)
        if known.storage_class != wanted.storage_class == each.storage_class and not each.has_failed:
            found[each.digest] = each
    return found


@dataclass(frozen=True, slots=True)
class Collector:
    """Deletes what is outdated and free."""

    client: Client
    events: Recorder
    holders: Holders
    clock: Clock
    # When DataSources came to which imports, for as long as that matters.
    arrivals: dict[Key, float] = field(default_factory=dict)

    async def collect(self, cron: Object, wanted: Wanted, link: Object, imports: list[Import]) -> float | None:
        """Seconds until it is to be looked at again; None where only a change makes a difference."""
        found = outdated(cron, wanted, link, imports)
        if not found:
            return None
        current = next(each for each in imports if each.key == target_of(link))
        if (left := self._grace(current)) > 0:
            return left
        again = None
        for each in found:
            if self.holders.of(each.key):
                continue
            if await self.holders.pod_of(each.key):
                again = POD_SECONDS
            else:
                await self.remove(cron, each, "newer ones have replaced it")
        return again

    def moved(self, target: Import) -> None:
        """A DataSource has just come to that import, which the caches may tell later."""
        now = self.clock.time()
        for key in [each for each, at in self.arrivals.items() if now - at > GRACE_SECONDS]:
            del self.arrivals[key]
        self.arrivals[target.key] = now

    def _grace(self, current: Import) -> float:
        """Seconds until what the DataSource has left may go. A time that is yet to come is of another clock."""
        now = self.clock.time()
        times = [moment(current.last_use) or 0.0, self.arrivals.get(current.key, 0.0)]
        return GRACE_SECONDS - (now - max((each for each in times if each <= now), default=0.0))

    async def drop(self, cron: Object, found: Import, why: str) -> str:
        """Delete an import that nobody has but the cron's own DataSource; else who has it, to be told."""
        holder = self.holders.of(found.key, besides=managed_by(cron)) or await self.holders.pod_of(found.key)
        if not holder:
            await self.remove(cron, found, why)
        return holder

    async def remove(self, cron: Object, found: Import, why: str) -> None:
        """Delete an import, and its claim with it."""
        resource = DATA_VOLUMES if found.volume else VOLUME_CLAIMS
        if await delete(self.client, resource, found.any):
            message = f'version {found.version}, in "{found.name}", is deleted: {why}'
            self.events.record(cron, "ImportDeleted", message)
