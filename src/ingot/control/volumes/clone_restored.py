"""The claim between a snapshot and a clone of another driver or volumeMode: storage restores it, a pod copies it."""

from collections.abc import Iterable

from ingot.api.cdi import names, size
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import SNAPSHOTS, VOLUME_CLAIMS
from ingot.control.setbacks import Setbacks
from ingot.control.volumes import interim
from ingot.control.volumes.claim import waits_for_consumer
from ingot.control.volumes.clone_strategy import Strategy
from ingot.control.volumes.filler import Hindered, Means, Waiting
from ingot.control.volumes.marks import annotation, is_bound, phase_of
from ingot.control.volumes.placement import is_delayed
from ingot.control.volumes.prime import in_the_way
from ingot.control.volumes.taken import Taken
from ingot.control.writing import delete
from ingot.kube.cache import Key, key_of
from ingot.kube.objects import is_deleting

_PREFIX = "tmp-restored-"
_INDEX = "restored-for"


def _made_for(claim: Object) -> Iterable[str]:
    return interim.made_for(claim, _PREFIX)


class CloneRestored:
    """Makes and removes them. They are in the snapshot's namespace, where the target cannot own anything."""

    def __init__(self, means: Means, setbacks: Setbacks) -> None:
        self._client = means.client
        self._claims = means.claims
        self._classes = means.classes
        self._setbacks = setbacks
        means.claims.cache.add_index(_INDEX, _made_for)

    def begun(self, target: Object, namespace: str) -> Object | None:
        """The one for the target, if it is there: what was begun from it is finished from it."""
        return self._claims.cache.get(_key(target, namespace))

    async def make(
        self, target: Object, snapshot: Object, taken: Taken, storage_class: Object, held: str, node: str
    ) -> Object:
        """The claim of that class, made if it is not there. `held` is what the snapshot holds, "" if nobody knows, and
        `node` where its claim is, if that is on one."""
        spec: Object = {
            "accessModes": ["ReadWriteOnce"],
            "dataSource": {"apiGroup": SNAPSHOTS.group, "kind": SNAPSHOTS.kind, "name": name_of(snapshot)},
            "resources": size.enlarged({}, size.of_origin(SNAPSHOTS, snapshot) or size.requested(target["spec"]) or 0),
            "storageClassName": name_of(storage_class),
            "volumeMode": taken.mode or "Filesystem",
        }
        told = {names.SELECTED_NODE: node} if node and is_delayed(storage_class) else {}
        if names.FILES in (held, annotation(target, names.CONTENT_TYPE)):
            told[names.CONTENT_TYPE] = names.FILES
        return await interim.make(self._client, VOLUME_CLAIMS, _key(target, namespace_of(snapshot)), target, spec, told)

    async def ready(self, claim: Object, target: Object, snapshot: str) -> Object:
        """The claim of that snapshot, from which a pod can copy. Raises Hindered until it has its volume, or waits for
        that pod only."""
        fits = (claim["spec"].get("dataSource") or {}).get("name") == snapshot
        await interim.check(self._client, VOLUME_CLAIMS, claim, target, fits=fits)
        if phase_of(claim) == "Lost":
            await delete(self._client, VOLUME_CLAIMS, claim)
            raise in_the_way(f'PersistentVolumeClaim "{key_of(claim)}"', gone=True)
        if is_bound(claim) or waits_for_consumer(claim, self._classes.cache):
            return claim
        shown = f'PersistentVolumeClaim "{key_of(claim)}", from which it is copied then, is made of the snapshot first'
        message = f"{shown}{self._progress(claim)}"
        raise Hindered(Waiting("CloneSourceNotReady", message, notes={names.CLONE_TYPE: str(Strategy.COPY)}))

    def _progress(self, claim: Object) -> str:
        if why := self._setbacks.last(claim):
            return f": {why}" if "tried again" in why else f": {why}; tried again"
        done, _, total = annotation(claim, names.CLONE_PROGRESS).partition("/")
        return f": {done} of {total} bytes" if total else ""

    async def sweep(self, key: Key, keep: str) -> None:
        """Delete those that were made for claims of that key, but for the one with the uid `keep`."""
        for claim in self._claims.cache.by_index(_INDEX, str(key)):
            if name_of(claim) != f"{_PREFIX}{keep}" and not is_deleting(claim):
                await delete(self._client, VOLUME_CLAIMS, claim)


def _key(target: Object, namespace: str) -> Key:
    return Key(namespace, f"{_PREFIX}{uid_of(target)}")
