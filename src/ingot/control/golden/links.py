"""The DataSource of a cron: made or adopted, and moved to another import by one write."""

from ingot.api.cdi import names
from ingot.api.object import Object, name_of
from ingot.api.resources import DATA_SOURCES, DATA_VOLUMES, VOLUME_CLAIMS
from ingot.api.status import ApiError
from ingot.control.golden.imports import Import
from ingot.control.golden.making import labels_of
from ingot.control.golden.owners import is_owner, own
from ingot.control.golden.rivals import managed_by
from ingot.control.owning import disown, is_passing
from ingot.control.volumes.marks import annotation
from ingot.control.writing import change, live
from ingot.kube.cache import Key
from ingot.kube.clock import Clock, micro_timestamp
from ingot.kube.events import Recorder
from ingot.kube.manager import Manager
from ingot.kube.objects import is_deleting


def target_of(link: Object | None) -> Key | None:
    """The claim that a DataSource points to itself; None for anything else."""
    claim = ((link or {}).get("spec") or {}).get("source", {}).get("pvc")
    return Key(claim["namespace"], claim["name"]) if claim else None


def is_kept_from(link: Object, cron: Object) -> bool:
    """Whether somebody has taken the label away that the cron, or the one before that an SSP has made anew, gave the
    DataSource, to have it for oneself."""
    if names.IMPORT_CRON in (link["metadata"].get("labels") or {}):
        return False
    return is_owner(link, cron) or annotation(link, names.KEPT_FROM) == name_of(cron)


def let_go(link: Object, cron: Object, *, anew: bool) -> None:
    """Make the DataSource the cron's no longer. `anew`: an SSP asks for the next one, from which it is kept too if it
    was from this one."""
    kept, notes = is_kept_from(link, cron), link["metadata"].get("annotations") or {}
    if is_owner(link, cron):
        disown(link, cron)
    if kept and anew:
        link["metadata"]["annotations"] = {**notes, names.KEPT_FROM: name_of(cron)}
    elif kept:
        notes.pop(names.KEPT_FROM, None)


class LinkRefused(Exception):
    """The server does not take the DataSource `name`, and says why."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f'DataSource "{name}" was refused: {why}; tried again')


class Links:
    """DataSources of crons. What one pointed to before is never touched."""

    def __init__(self, manager: Manager, events: Recorder, clock: Clock) -> None:
        self.informer = manager.informer(DATA_SOURCES)
        self._client = manager.client
        self._events = events
        self._clock = clock

    async def ensured(self, cron: Object) -> Object | None:
        """The cron's DataSource, made if it is not there, else adopted; None while one of its name is about to go."""
        key = managed_by(cron)
        found = self.informer.cache.get(key)
        if found is None:
            found = await self._made(cron, key)
        if found is None or is_deleting(found):
            return None
        if is_kept_from(found, cron):
            return found
        adopted = not is_owner(found, cron)
        found = await change(self._client, DATA_SOURCES, found, lambda each: _adopt(each, cron))
        if adopted:
            message = f'DataSource "{key.name}" was there before, and follows this cron from its next import on'
            self._events.record(cron, "DataSourceAdopted", message)
        return found

    async def _made(self, cron: Object, key: Key) -> Object | None:
        wanted: Object = {
            "apiVersion": DATA_SOURCES.api_version,
            "kind": DATA_SOURCES.kind,
            "metadata": {"name": key.name, "namespace": key.namespace, "labels": labels_of(cron)},
            "spec": {"source": {}},
        }
        own(wanted, cron, maker=True)
        try:
            return await self._client.create(DATA_SOURCES, wanted)
        except ApiError as error:
            if not is_passing(error):
                raise LinkRefused(key.name, error.message) from error
            if error.reason != "AlreadyExists":
                raise
        return await live(self._client, DATA_SOURCES, key.name, key.namespace)

    async def moved(self, cron: Object, link: Object, target: Import, left: Import | None) -> Object:
        """The DataSource, which points to that import; `left` is the one that it stood for."""
        if target_of(link) == target.key:
            return link
        back = left is not None and target.has_served_before(left)
        await self._mark(target)
        source = {"pvc": {"namespace": target.key.namespace, "name": target.name}}
        moved = await change(self._client, DATA_SOURCES, link, lambda each: each["spec"].update(source=source))
        self._events.record(cron, *_move(link, target, back=back))
        return moved

    async def _mark(self, target: Import) -> None:
        """Before it moves: garbage collection goes by when an import was last come to."""
        now = micro_timestamp(self._clock.time())
        resource = DATA_VOLUMES if target.volume else VOLUME_CLAIMS

        def mark(obj: Object) -> None:
            obj["metadata"].setdefault("annotations", {})[names.LAST_USE] = now

        if annotation(target.any, names.LAST_USE) != now:
            await change(self._client, resource, target.any, mark)


def _move(link: Object, target: Import, *, back: bool) -> tuple[str, str]:
    """Reason and message of the event that tells it."""
    what, where = f'DataSource "{name_of(link)}"', f'version {target.version}, in "{target.name}"'
    before = target_of(link)
    if back and before:
        return "DataSourceMovedBack", f'{what} has moved back to {where}, from "{before.name}"'
    was = f', and not for "{before.name}" any more' if before else ""
    return "DataSourceMoved", f"{what} stands for {where}{was}"


def _adopt(link: Object, cron: Object) -> None:
    own(link, cron, maker=False)
    link["metadata"].setdefault("labels", {}).update(labels_of(cron))
    (link["metadata"].get("annotations") or {}).pop(names.KEPT_FROM, None)
