"""What a VolumeCloneSource clones, and whether it may."""

from collections.abc import Iterable

from ingot.api.cdi import clone_faults, names, size
from ingot.api.cdi.clone_faults import Origin
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resource import Resource
from ingot.api.resources import DATA_SOURCES, DATA_VOLUMES, SNAPSHOTS, VOLUME_CLAIMS
from ingot.control.owning import is_owned
from ingot.control.volumes import source as data_volume_source
from ingot.control.volumes.filler import Failed
from ingot.control.volumes.marks import annotation, phase_of
from ingot.control.volumes.status import FAILED, SUCCEEDED
from ingot.control.writing import live
from ingot.kube.cache import Key, key_of
from ingot.kube.manager import Manager
from ingot.kube.objects import controller_of, is_deleting


def kind_of(source: Object) -> Resource:
    """What is cloned: a claim or a snapshot."""
    return SNAPSHOTS if source["spec"]["source"]["kind"] == SNAPSHOTS.kind else VOLUME_CLAIMS


def key_of_origin(source: Object) -> Key:
    """Where a VolumeCloneSource says that its origin is: believed only if `Origins.is_allowed`."""
    namespace = annotation(source, names.SOURCE_NAMESPACE) or namespace_of(source)
    return Key(namespace, source["spec"]["source"]["name"])


def origins(source: Object) -> Iterable[Key]:
    """What a VolumeCloneSource is about to read: in another namespace only one that is made for a DataVolume can."""
    key, maker = key_of_origin(source), controller_of(source) or {}
    made = maker.get("kind") == DATA_VOLUMES.kind and name_of(source) == f"{names.CLONE_SOURCE_PREFIX}{maker['uid']}"
    return [key] if made or key.namespace == namespace_of(source) else []


def by_origin(source: Object) -> Iterable[str]:
    """An index of VolumeCloneSources by what they clone."""
    return [f"{kind_of(source).kind}/{key_of_origin(source)}"]


class Origins:
    """Another namespace's claims and snapshots are cloned through a DataVolume only.

    Whether the person may do that was asked when the DataVolume was made, and for one filling of one claim. So an
    annotation that leads to another namespace counts on the VolumeCloneSource that is made for a DataVolume, while that
    names this very origin and has not ended, and for the DataVolume's own claim. What a DataSource stood for when the
    clone was begun, as the DataVolume's status notes, is as good: it is finished wherever that has moved since. Who may
    write the status is asked for the same right when its origin changes, so that it is believed.
    """

    def __init__(self, manager: Manager) -> None:
        self._client = manager.client
        self.volumes = manager.informer(DATA_VOLUMES)
        self.data_sources = manager.informer(DATA_SOURCES)

    async def is_allowed(self, source: Object, target: Object) -> bool:
        """Whether the target may become what the source says."""
        key = key_of_origin(source)
        if key.namespace == namespace_of(source):
            return True
        volume = await self._volume(key_of(target))
        if volume is None or not _is_made_for(volume, source, target):
            return False
        origin = {"kind": kind_of(source).kind, "namespace": key.namespace, "name": key.name}
        noted = (volume.get("status") or {}).get("origin") if "sourceRef" in volume["spec"] else None
        return origin in (noted, data_volume_source.elsewhere_of(volume, self.data_sources.cache))

    async def _volume(self, key: Key) -> Object | None:
        return self.volumes.cache.get(key) or await live(self._client, DATA_VOLUMES, *reversed(key))

    async def unsuitable(self, target: Object, origin: Origin) -> Failed | None:
        """Why the target cannot be a clone, in the words with which a DataVolume is refused whose origin is there."""
        volume = await self._volume(key_of(target)) if _is_of_volume(target) else None
        if volume is not None and (why := clone_faults.other_content(volume["spec"], origin)):
            return Failed("CloneContentTypeMismatch", f"{why}. Make the DataVolume anew, final")
        field = f"spec.{clone_faults.wish_field(volume['spec'])}" if volume is not None else "spec"
        asked, needed = size.requested(target["spec"]) or 0, size.least_clone(origin.kind, origin.found)
        if not (why := clone_faults.too_small(asked, f"{field}.{clone_faults.SIZE}", origin, needed)):
            return None
        return Failed("CloneSourceTooLarge", f"{why}. Make the {'DataVolume' if volume else 'claim'} anew, final")

    def refusal(self, source: Object) -> str:
        """What is said of one that is not allowed."""
        return (
            f'VolumeCloneSource "{name_of(source)}": {names.SOURCE_NAMESPACE} names namespace '
            f'"{key_of_origin(source).namespace}", from which only a DataVolume may clone that names the same source, '
            "once, into its own claim: make one, or clone within the namespace; tried again"
        )


def _is_of_volume(target: Object) -> bool:
    return (controller_of(target) or {}).get("kind") == DATA_VOLUMES.kind


def _is_made_for(volume: Object, source: Object, target: Object) -> bool:
    """Whether source and target are what is made for the DataVolume, and it still is to be filled."""
    if is_deleting(volume) or is_deleting(source) or phase_of(volume) in (SUCCEEDED, FAILED):
        return False
    is_own = name_of(source) == f"{names.CLONE_SOURCE_PREFIX}{uid_of(volume)}" and is_owned(source, volume)
    return is_own and name_of(target) == name_of(volume) and is_owned(target, volume)
