"""DataImportCron: each new version is imported, and then the DataSource stands for it (G3).

`Polls` looks for new versions, and writes the newest on the cron; here it becomes a volume.
"""

from ingot.api.cdi import names
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resource import Resource
from ingot.api.resources import DATA_IMPORT_CRONS, DATA_VOLUMES, STORAGE_CLASSES, VOLUME_CLAIMS
from ingot.api.status import ApiError
from ingot.control.golden import making, standing
from ingot.control.golden.collection import POD_SECONDS, Collector
from ingot.control.golden.farewell import Farewell
from ingot.control.golden.holders import Holders
from ingot.control.golden.imports import Import, Imports, cron_of
from ingot.control.golden.links import LinkRefused, Links, is_kept_from, target_of
from ingot.control.golden.plan import Plan, plan
from ingot.control.golden.reading import read_cron
from ingot.control.golden.rivals import Rivals
from ingot.control.golden.standing import Seen
from ingot.control.golden.wanted import Wanted, import_name, short, wanted_of
from ingot.control.owning import REFUSED_SECONDS, is_owned, is_passing
from ingot.control.storage import is_leaving
from ingot.control.volumes.marks import annotation
from ingot.control.writing import change, live
from ingot.images.fault import ImageFault
from ingot.kube.cache import Key, key_of
from ingot.kube.change import patch_status
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.controller import Controller, Result
from ingot.kube.events import Recorder
from ingot.kube.manager import Manager
from ingot.kube.objects import add_finalizer, condition, is_deleting

# Reasons of UpToDate that are as they should be, though it is not true.
_QUIET = ("NoImport", "ImportProgressing", "Outdated", "Pinned", standing.UNMANAGED)


class Crons:
    """The controller. What was seen is on the cron, what was imported on the imports: nothing else is remembered."""

    def __init__(self, manager: Manager, clock: Clock = SYSTEM) -> None:
        self._client = manager.client
        self._clock = clock
        self._events = Recorder(manager.client, "dataimportcron-controller")
        self._crons = manager.informer(DATA_IMPORT_CRONS)
        self._classes = manager.informer(STORAGE_CLASSES)
        self._imports = Imports(manager)
        self._rivals = Rivals(manager)
        self._links = Links(manager, self._events, clock)
        holders = Holders(manager, clock)
        self._collector = Collector(manager.client, self._events, holders, clock)
        self._farewell = Farewell(manager.client, self._collector, self._rivals)
        manager.serve(self._events.run)
        controller = (
            Controller("dataimportcron", self.reconcile, workers=8, clock=clock)
            .watch(self._crons)
            .watch(self._crons, self._rivals.of)
            .watch(self._imports.volumes, _of_import)
            .watch(self._imports.claims, _of_import)
            .watch(self._links.informer, self._of_link)
            .watch(self._classes, lambda _: self._crons.cache.keys())
        )
        holders.wake(controller, self._imports.cron_of_claim)
        manager.add(controller)

    def _of_link(self, link: Object) -> list[Key]:
        return [key_of(cron) for cron in self._rivals.for_data_source(key_of(link))]

    async def reconcile(self, key: Key) -> Result | None:
        cron = read_cron(self._crons.cache, key)
        if cron is None:
            return None
        imports = self._imports.of(key)
        if is_deleting(cron):
            return _again(await self._farewell.step(cron, imports))
        wanted = wanted_of(cron, self._classes.cache)
        if (rival := self._rivals.holder(cron)) is not None:
            await self._tell(cron, Seen(wanted, imports, None, rival))
            return None
        cron = await change(self._client, DATA_IMPORT_CRONS, cron, lambda each: _mark(each, wanted))
        try:
            link = await self._links.ensured(cron)
        except LinkRefused as refused:
            await self._tell(cron, Seen(wanted, imports, None, fault=str(refused)))
            return Result(REFUSED_SECONDS)
        if link is None:
            return None
        if is_kept_from(link, cron):
            await self._tell(cron, Seen(wanted, imports, link))
            return None
        return await self._follow(cron, wanted, imports, link)

    async def _follow(self, cron: Object, wanted: Wanted, imports: list[Import], link: Object) -> Result | None:
        """The DataSource is ours: move it, import what is wanted, tell, and collect what is outdated."""
        todo = plan(cron, wanted, imports)
        if todo.target is not None:
            if target_of(link) != todo.target.key:
                self._collector.moved(todo.target)
            link = await self._links.moved(cron, link, todo.target, Seen(wanted, imports, link).current)
        is_held = await self._drop(cron, todo)
        fault = await self._import(cron, wanted, imports, todo)
        await self._tell(cron, Seen(wanted, imports, link, fault=fault))
        if fault:
            return Result(REFUSED_SECONDS)
        again = await self._collector.collect(cron, wanted, link, imports)
        return _again(min(again or POD_SECONDS, POD_SECONDS) if is_held else again)

    async def _drop(self, cron: Object, todo: Plan) -> bool:
        """Delete what is of no use; whether some of it stays, for those who wait for it."""
        for each in todo.anew:
            why = _fault_of(each) or "the cron has another source by now"
            await self._collector.remove(cron, each, f"{why}; it is made anew")
        is_held = False
        for each in todo.drop:
            why = _fault_of(each) or "another version is wanted by now"
            if holder := await self._collector.drop(cron, each, why):
                is_held = True
                message = f'version {each.version}, in "{each.name}", is used by {holder}: it goes after that, as {why}'
                self._events.record(cron, "ImportHeld", message, "Warning")
        return is_held

    async def _import(self, cron: Object, wanted: Wanted, imports: list[Import], todo: Plan) -> str:
        """Begin what is wanted; "" or why that cannot be."""
        if not todo.begin or not standing.is_delivered(cron):
            return ""
        try:
            made = making.render(cron, wanted, import_name(cron, wanted, imports), imports)
            return await self._begun(cron, made)
        except ImageFault as fault:
            return str(fault)

    async def _begun(self, cron: Object, wanted: Object) -> str:
        """Make the import, or take one that is there already; "" or why neither can be."""
        left = self._imports.claims.cache.get(key_of(wanted))
        if left is not None and not is_leaving(left):
            return await self._taken(cron, VOLUME_CLAIMS, wanted)
        try:
            made = await self._client.create(DATA_VOLUMES, wanted)
        except ApiError as error:
            if error.reason == "AlreadyExists":
                return await self._taken(cron, DATA_VOLUMES, wanted)
            if is_passing(error):
                raise
            return f'DataVolume "{name_of(wanted)}" was refused: {error.message}'
        digest = annotation(made, names.DESIRED_DIGEST)
        message = f'version {annotation(made, names.VERSION)} ({short(digest)}) is imported into "{name_of(made)}"'
        self._events.record(cron, "ImportStarted", message)
        return ""

    async def _taken(self, cron: Object, resource: Resource, wanted: Object) -> str:
        """An import of that name is there: of a cron that is gone, if not our own that the cache has yet to show."""
        found = await live(self._client, resource, name_of(wanted), namespace_of(wanted))
        if found is None:
            return ""
        if annotation(found, names.DESIRED_DIGEST) != annotation(wanted, names.DESIRED_DIGEST):
            what = f'{resource.kind} "{name_of(found)}"'
            return f"{what} has the name that is needed, and is not of that version: delete it"
        labels = making.labels_of(cron)
        await change(self._client, resource, found, lambda each: _label(each, labels))
        # The DataVolume may go before its claim, which is all that is left of the import then.
        claim = await live(self._client, VOLUME_CLAIMS, name_of(found), namespace_of(found))
        if claim is not None and is_owned(claim, found):
            await change(self._client, VOLUME_CLAIMS, claim, lambda each: _label(each, labels))
        return ""

    async def _tell(self, cron: Object, seen: Seen) -> None:
        told = standing.told(cron, seen, self._clock.time())
        await patch_status(self._client, DATA_IMPORT_CRONS, cron, told)
        before, after = (condition(each, standing.UP_TO_DATE) or {} for each in (cron, told))
        if after.get("reason") != before.get("reason"):
            quiet = after["status"] == "True" or after["reason"] in _QUIET
            self._events.record(cron, after["reason"], after["message"], "Normal" if quiet else "Warning")


def _fault_of(found: Import) -> str:
    return f"it has failed: {found.trouble}" if found.has_failed else ""


def _mark(cron: Object, wanted: Wanted) -> None:
    add_finalizer(cron, names.CRON_FINALIZER)
    if wanted.storage_class:
        cron["metadata"].setdefault("annotations", {})[names.CRON_STORAGE_CLASS] = wanted.storage_class


def _label(obj: Object, labels: dict[str, str]) -> None:
    obj["metadata"].setdefault("labels", {}).update(labels)


def _of_import(obj: Object) -> list[Key]:
    key = cron_of(obj)
    return [key] if key else []


def _again(seconds: float | None) -> Result | None:
    return None if seconds is None else Result(seconds)
