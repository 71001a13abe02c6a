"""The snapshot between a claim and its clone: made for one clone, and gone when that is there."""

from collections.abc import Iterable

from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import SNAPSHOTS
from ingot.control.snapshots.kinds import SnapshotKinds
from ingot.control.volumes import interim, marks
from ingot.control.volumes.filler import Hindered, Waiting
from ingot.control.writing import delete
from ingot.kube.cache import Key
from ingot.kube.client import Client
from ingot.kube.objects import is_deleting

_PREFIX = "tmp-snapshot-"
_INDEX = "snapshot-for"
# How often a snapshot is looked for where the server has not got the kind.
_LOOK_SECONDS = 30.0


def _made_for(snapshot: Object) -> Iterable[str]:
    return interim.made_for(snapshot, _PREFIX)


class CloneSnapshots:
    """Makes and removes them. They are in the origin's namespace, where the target cannot own anything."""

    def __init__(self, client: Client, kinds: SnapshotKinds) -> None:
        self._client = client
        self._kinds = kinds
        kinds.snapshots.cache.add_index(_INDEX, _made_for)

    def target_of(self, snapshot: Object) -> Key | None:
        """The claim that a snapshot was made for; None for those of others."""
        return marks.target_of(snapshot) if name_of(snapshot).startswith(_PREFIX) else None

    def ready(self, key: Key) -> Object:
        """The snapshot that is cloned itself. Raises Hindered until it is there, and ready to use."""
        shown = f'VolumeSnapshot "{key}", which is to be cloned,'
        if not self._kinds.are_served:
            message = f"{shown} does not exist, nor does the kind: install snapshot.storage.k8s.io; tried again"
            raise Hindered(Waiting("CloneSourceNotFound", message, _LOOK_SECONDS))
        snapshot = self._kinds.snapshots.cache.get(key)
        if snapshot is None:
            message = f"{shown} does not exist: it is cloned once it does; tried again"
            raise Hindered(Waiting("CloneSourceNotFound", message))
        if not (snapshot.get("status") or {}).get("readyToUse"):
            message = f"{shown} is not ready yet: it is cloned once it is; tried again"
            raise Hindered(Waiting("CloneSourceNotReady", message))
        return snapshot

    async def ensure(self, target: Object, origin: Object, snapshot_class: str) -> Object:
        """The snapshot of the origin for the target, ready to use. Raises Hindered until it is."""
        key = Key(namespace_of(origin), f"{_PREFIX}{uid_of(target)}")
        snapshot = self._kinds.snapshots.cache.get(key) or await self._make(target, origin, key, snapshot_class)
        shown = f'VolumeSnapshot "{key}"'
        fits = snapshot["spec"]["source"].get("persistentVolumeClaimName") == name_of(origin)
        await interim.check(self._client, SNAPSHOTS, snapshot, target, fits=fits)
        status = snapshot.get("status") or {}
        if status.get("readyToUse"):
            return snapshot
        why = (status.get("error") or {}).get("message")
        message = f"{shown}: {why}; tried again" if why else f"{shown} of the source is being made"
        raise Hindered(Waiting("SnapshotForSmartCloneInProgress", message))

    async def _make(self, target: Object, origin: Object, key: Key, snapshot_class: str) -> Object:
        source = {"persistentVolumeClaimName": name_of(origin)}
        spec = {"source": source, "volumeSnapshotClassName": snapshot_class}
        return await interim.make(self._client, SNAPSHOTS, key, target, spec)

    async def sweep(self, key: Key, keep: str) -> None:
        """Delete those that were made for claims of that key, but for the one with the uid `keep`."""
        for snapshot in self._kinds.snapshots.cache.by_index(_INDEX, str(key)):
            if name_of(snapshot) != f"{_PREFIX}{keep}" and not is_deleting(snapshot):
                await delete(self._client, SNAPSHOTS, snapshot)
