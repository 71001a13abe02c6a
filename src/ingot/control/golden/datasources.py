"""DataSource: what a link leads to, and whether that can be cloned (G2)."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ingot.api.cdi import names
from ingot.api.cdi.filling import is_being_filled
from ingot.api.object import Object, namespace_of
from ingot.api.resources import DATA_SOURCES, DATA_VOLUMES, VOLUME_CLAIMS
from ingot.control.golden.making import handed_on
from ingot.control.heartbeat import set_condition
from ingot.control.snapshots.kinds import snapshot_kinds
from ingot.control.volumes.marks import annotation, is_bound, phase_of
from ingot.control.volumes.source import LINKS
from ingot.control.volumes.status import SUCCEEDED
from ingot.control.writing import change
from ingot.kube.cache import Key, key_of
from ingot.kube.change import patch_status
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.controller import Controller
from ingot.kube.events import Recorder
from ingot.kube.manager import Manager
from ingot.kube.objects import condition, copy_of, is_deleting

READY = "Ready"
_BY_NAMED = "named-by-data-source"


@dataclass(frozen=True, slots=True)
class _Found:
    """What a link leads to: CDI's reason why it is ready or not, the source at its end, and the labels of that."""

    reason: str
    message: str
    source: Object = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)


def _named(link: Object) -> Iterable[str]:
    """What a link names itself, as KIND/NAMESPACE/NAME."""
    for kind, named in link["spec"]["source"].items():
        yield f"{kind}/{named.get('namespace') or namespace_of(link)}/{named['name']}"


class DataSources:
    """The controller. It only tells: nothing is made, and what is linked is not touched. Labels that say what to make
    of an image come to the link too, as with CDI; where a cron has the link, from that."""

    def __init__(self, manager: Manager, clock: Clock = SYSTEM) -> None:
        self._client = manager.client
        self._clock = clock
        self._events = Recorder(manager.client, "datasource-controller")
        self._links = manager.informer(DATA_SOURCES)
        self._claims = manager.informer(VOLUME_CLAIMS)
        self._volumes = manager.informer(DATA_VOLUMES)
        self._kinds = snapshot_kinds(manager, clock)
        self._links.cache.add_index(_BY_NAMED, _named)
        manager.serve(self._events.run)
        controller = (
            Controller("datasource", self.reconcile, workers=4, clock=clock)
            .watch(self._links)
            .watch(self._links, lambda obj: self._linked("dataSource", obj))
            .watch(self._claims, lambda obj: self._linked("pvc", obj))
            .watch(self._volumes, lambda obj: self._linked("pvc", obj))
        )
        self._kinds.wake(controller, lambda obj: self._linked("snapshot", obj))
        manager.add(controller)

    def _linked(self, kind: str, obj: Object) -> list[Key]:
        """The links that lead to an object, themselves or by another one."""
        found = self._links.cache.by_index(_BY_NAMED, f"{kind}/{key_of(obj)}")
        further = (self._links.cache.by_index(_BY_NAMED, f"dataSource/{key_of(link)}") for link in found)
        return [key_of(link) for link in [*found, *(each for links in further for each in links)]]

    async def reconcile(self, key: Key) -> None:
        link = self._links.cache.get(key)
        if link is None or is_deleting(link):
            return
        found = self._followed(link)
        if names.IMPORT_CRON not in (link["metadata"].get("labels") or {}):
            link = await change(self._client, DATA_SOURCES, link, lambda each: _label(each, found.labels))
        told = copy_of(link)
        status = told.setdefault("status", {})
        status.pop("source", None)
        if found.source:
            status["source"] = copy_of(found.source)
        set_condition(told, READY, str(found.reason == READY), found.reason, found.message, self._clock.time())
        await patch_status(self._client, DATA_SOURCES, link, told)
        before = (condition(link, READY) or {}).get("reason")
        if found.reason != before and (before == READY or found.reason == READY):
            self._events.record(link, found.reason, found.message, "Normal" if found.reason == READY else "Warning")

    def _followed(self, link: Object) -> _Found:
        """The end of the chain: a link, and at most one more, of the same namespace."""
        seen = {key_of(link)}
        for _ in range(LINKS):
            source = link["spec"]["source"]
            if "dataSource" not in source:
                return self._at_end(source)
            key = Key(source["dataSource"]["namespace"], source["dataSource"]["name"])
            if key in seen:
                return _Found(
                    "SelfReference", f'spec.source: DataSource "{key}" leads back to itself: name another one'
                )
            if key.namespace != namespace_of(link):
                message = f'spec.source: DataSource "{key}" is in another namespace than DataSource "{key_of(link)}": '
                return _Found(
                    "CrossNamespaceReference", f"{message}name one of the same, or the pvc or snapshot itself"
                )
            seen.add(key)
            found = self._links.cache.get(key)
            if found is None:
                return _Found("NotFound", f'DataSource "{key}" is not there: it is followed once it is')
            link = found
        message = f'spec.source: DataSource "{key_of(link)}" follows a third one: at most {LINKS} are followed'
        return _Found("MaxReferenceDepthReached", message)

    def _at_end(self, source: Object) -> _Found:
        for kind, named in source.items():
            key = Key(named.get("namespace", ""), named["name"])
            found = self._claim(key) if kind == "pvc" else self._snapshot(key)
            return replace(found, source=source)
        return _Found("NoSource", "spec.source is empty: it can be cloned once it names a pvc or a snapshot")

    def _claim(self, key: Key) -> _Found:
        claim, volume = self._claims.cache.get(key), self._volumes.cache.get(key)
        if claim is None:
            return _Found("NotFound", f'PersistentVolumeClaim "{key}" is not there: it can be cloned once it is')
        if is_deleting(claim):
            return _Found("NotFound", f'PersistentVolumeClaim "{key}" is being deleted')
        if volume is not None and phase_of(volume) != SUCCEEDED:
            reached = phase_of(volume) or "Pending"
            return _Found(reached, f'DataVolume "{key}" is in phase {reached}: it can be cloned once it has succeeded')
        if annotation(claim, names.FAILURE):
            return _Found("Failed", f'PersistentVolumeClaim "{key}" could not be filled: see its events')
        if not is_bound(claim) or is_being_filled(claim):
            # One that takes its upload itself is bound before it has any.
            reached = (not is_bound(claim) and phase_of(claim)) or "Pending"
            return _Found(reached, f'PersistentVolumeClaim "{key}" is not filled yet: it can be cloned once it is')
        return _ready(claim, volume)

    def _snapshot(self, key: Key) -> _Found:
        snapshot = self._kinds.snapshots.cache.get(key)
        if snapshot is None:
            return _Found("NotFound", f'VolumeSnapshot "{key}" is not there: it can be cloned once it is')
        if is_deleting(snapshot):
            return _Found("NotFound", f'VolumeSnapshot "{key}" is being deleted')
        if not (snapshot.get("status") or {}).get("readyToUse"):
            return _Found("SnapshotNotReady", f'VolumeSnapshot "{key}" is not ready yet: it can be cloned once it is')
        return _ready(snapshot)


def _ready(*ends: Object | None) -> _Found:
    labels = [(each["metadata"].get("labels") or {}) for each in ends if each is not None]
    said = handed_on({key: text for each in labels for key, text in each.items()})
    return _Found(READY, "DataSource is ready to be consumed", labels=said)


def _label(link: Object, labels: dict[str, str]) -> None:
    if labels:
        link["metadata"]["labels"] = {**(link["metadata"].get("labels") or {}), **labels}
