"""Clones: claims that a VolumeCloneSource fills with what is in another claim or in a snapshot (G10).

The prime is made where the origin is, for nothing reads a claim of another namespace; its volume crosses over.
"""

from collections.abc import Iterable, Mapping

from ingot.api.cdi import names, size
from ingot.api.cdi.clone_faults import Origin
from ingot.api.cdi.filling import is_being_filled
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import CLONE_SOURCES, INSTANCES, NODES, SNAPSHOTS, VOLUME_CLAIMS
from ingot.control.setbacks import Setbacks
from ingot.control.snapshots.kinds import snapshot_kinds
from ingot.control.volumes import worker
from ingot.control.volumes.claim import class_of, is_local
from ingot.control.volumes.clone_copy import Copies
from ingot.control.volumes.clone_restored import CloneRestored
from ingot.control.volumes.clone_snapshot import CloneSnapshots
from ingot.control.volumes.clone_storage import StorageClones, how
from ingot.control.volumes.clone_strategy import (
    Choice,
    Circumstances,
    Strategy,
    choose,
    choose_in_use,
    choose_of_snapshot,
)
from ingot.control.volumes.filler import (
    Failed,
    Hindered,
    Means,
    Step,
    Waiting,
    Words,
    Work,
)
from ingot.control.volumes.marks import annotation, is_bound
from ingot.control.volumes.origin import Origins, by_origin, key_of_origin, kind_of
from ingot.control.volumes.placement import node_of
from ingot.control.volumes.taken import Taken, claim_of, taken_of
from ingot.control.volumes.writers import Writers
from ingot.kube.cache import Key, key_of
from ingot.kube.controller import Controller
from ingot.kube.manager import Manager
from ingot.kube.objects import is_deleting

_BY_ORIGIN, _BY_SOURCE = "clone-origin", "cloned-from"
# How often a content is looked for, which nobody tells of.
_LOOK_SECONDS = 5.0
# How often it is looked whether a DataVolume leads to another namespace by now.
_ALLOWED_SECONDS = 5.0
_BEGUN = Choice(Strategy.COPY, "it has been begun")


def _by_source(claim: Object) -> Iterable[str]:
    """Unbound claims by the VolumeCloneSource that fills them."""
    reference = claim["spec"].get("dataSourceRef") or {}
    ours = reference.get("apiGroup") == names.GROUP and reference.get("kind") == CLONE_SOURCES.kind
    return [f"{namespace_of(claim)}/{reference['name']}"] if ours and not claim["spec"].get("volumeName") else []


class Clones:
    """The filler of claims that name a VolumeCloneSource."""

    resource = CLONE_SOURCES
    words = Words("clone", "CloneScheduled", "CloneInProgress", "CloneSucceeded", "CloneFailed")
    prefix = names.CLONER_PREFIX

    def __init__(self, means: Means, manager: Manager) -> None:
        self._means = means
        self._kinds = snapshot_kinds(manager, means.clock)
        self._origins = Origins(manager)
        self._writers = Writers(manager)
        setbacks = Setbacks(manager)
        self._nodes = manager.informer(NODES)
        self._instances = manager.informer(INSTANCES)
        self._sources = manager.informer(CLONE_SOURCES)
        self._sources.cache.add_index(_BY_ORIGIN, by_origin)
        means.claims.cache.add_index(_BY_SOURCE, _by_source)
        self._snapshots = CloneSnapshots(means.client, self._kinds)
        self._copies = Copies(means, manager)
        self._storage = StorageClones(means, self._nodes, setbacks)
        self._restored = CloneRestored(means, setbacks)

    def namespace(self, _target: Object, source: Object) -> str:
        return key_of_origin(source).namespace

    def listen(self, controller: Controller) -> None:
        controller.watch(self._means.claims, lambda claim: self._of_origin(VOLUME_CLAIMS.kind, claim))
        for informer in (self._nodes, self._instances, self._origins.volumes, self._origins.data_sources):
            # Read, not followed: nothing begins before they are full.
            controller.watch(informer, lambda _: ())
        controller.watch(self._copies.moments.contents, self._copies.moments.targets_of)
        self._kinds.wake(controller, self._of_snapshot)

    def _of_origin(self, kind: str, origin: Object) -> list[Key]:
        """The claims that are to be clones of this one."""
        sources = self._sources.cache.by_index(_BY_ORIGIN, f"{kind}/{key_of(origin)}")
        indexed = self._means.claims.cache.by_index
        return [key_of(claim) for source in sources for claim in indexed(_BY_SOURCE, str(key_of(source)))]

    def _of_snapshot(self, snapshot: Object) -> list[Key]:
        made_for = self._snapshots.target_of(snapshot)
        return [*self._of_origin(SNAPSHOTS.kind, snapshot), *([made_for] if made_for else [])]

    async def step(self, work: Work) -> Step:
        if not await self._origins.is_allowed(work.source, work.target):
            raise Hindered(Waiting("CloneNotAllowed", self._origins.refusal(work.source), _ALLOWED_SECONDS))
        if work.prime is not None and work.pod is None and work.prime["spec"].get("dataSource"):
            return self._storage.follow(work.prime, work.target)
        if work.prime is not None and work.pod is not None:
            return await self._copies.follow(work)
        if kind_of(work.source) == SNAPSHOTS:
            return await self._from_snapshot(work)
        return await self._from_claim(work)

    async def _from_claim(self, work: Work) -> Step:
        origin = self._ready(key_of_origin(work.source))
        known = Origin(VOLUME_CLAIMS, origin)
        if fault := await self._origins.unsuitable(work.target, known):
            return fault
        # A prime that the storage does not fill was made for a pod.
        choice = await self._choice(work, origin) if work.prime is None else _BEGUN
        if choice.strategy is Strategy.COPY:
            return await self._copies.begin(work, origin, lambda: self._say(work, choice))
        least = size.of_origin(VOLUME_CLAIMS, origin) or 0
        if choice.strategy is Strategy.SNAPSHOT:
            snapshot = await self._snapshots.ensure(work.target, origin, choice.snapshot_class)
            least = max(least, size.of_origin(SNAPSHOTS, snapshot) or 0)
            reference = {"apiGroup": SNAPSHOTS.group, "kind": SNAPSHOTS.kind, "name": name_of(snapshot)}
        else:
            reference = {"kind": VOLUME_CLAIMS.kind, "name": name_of(origin)}
        self._say(work, choice)
        return await self._storage.begin(work, origin, reference, namespace_of(origin), known.told, least)

    def _ready(self, key: Key) -> Object:
        """The claim that is cloned. Raises Hindered until it is there, and filled."""
        origin = self._means.claims.cache.get(key)
        shown = f'PersistentVolumeClaim "{key}", which is to be cloned,'
        if origin is None:
            raise Hindered(
                Waiting("CloneSourceNotFound", f"{shown} does not exist: it is cloned once it does; tried again")
            )
        if is_deleting(origin):
            raise Hindered(
                Waiting("CloneSourceDeleting", f"{shown} is being deleted: make another one of that name; tried again")
            )
        if annotation(origin, names.FAILURE):
            raise Hindered(
                Waiting("CloneSourceFailed", f"{shown} could not be filled itself: see its events; tried again")
            )
        if not is_bound(origin) or is_being_filled(origin):
            raise Hindered(
                Waiting("CloneSourceNotReady", f"{shown} is not filled yet: it is cloned once it is; tried again")
            )
        return origin

    async def _choice(self, work: Work, origin: Object) -> Choice:
        volume = self._means.volumes.cache.get(Key("", origin["spec"]["volumeName"]))
        seen = Circumstances(
            target=work.target,
            origin=origin,
            target_class=self._class(work.target),
            origin_class=self._class(origin),
            node=node_of(volume, self._nodes.cache),
            preallocated=self._is_preallocated(work, annotation(origin, names.CONTENT_TYPE)),
        )
        choice = choose(seen, self._kinds)
        if choice.strategy is not Strategy.CSI_CLONE or is_local(seen.target_class):
            return choice
        if writer := await self._writers.of(origin):
            return choose_in_use(seen, self._kinds, writer)
        # Its full copy was begun while a guest wrote that has ended since.
        return _BEGUN if await self._copies.moments.find(work.target, origin) is not None else choice

    def _is_preallocated(self, work: Work, held: str) -> bool:
        """Whether the disk is to have no holes; the files of an archive have none to fill."""
        wished = worker.is_preallocated(work.source["spec"], work.target, self._means.wishes)
        return wished and names.FILES not in (held, annotation(work.target, names.CONTENT_TYPE))

    def _class(self, claim: Object) -> Object | None:
        return self._means.classes.cache.get(Key("", claim["spec"].get("storageClassName") or ""))

    async def _from_snapshot(self, work: Work) -> Step:
        key = key_of_origin(work.source)
        if (restored := self._restored.begun(work.target, key.namespace)) is not None:
            return await self._from_restored(work, restored)
        snapshot = self._snapshots.ready(key)
        origin = self._means.claims.cache.get(claim_of(snapshot))
        known = Origin(SNAPSHOTS, snapshot, origin)
        if fault := await self._origins.unsuitable(work.target, known):
            return fault
        taken = await taken_of(self._means.client, snapshot)
        if taken is None:
            message = f'VolumeSnapshot "{key}", which is to be cloned, has no VolumeSnapshotContent; tried again'
            return Waiting("CloneSourceNotReady", message, _LOOK_SECONDS)
        preallocated = self._is_preallocated(work, known.told)
        choice = choose_of_snapshot(work.target, self._class(work.target), taken, preallocated=preallocated)
        if work.prime is not None:
            # A prime that the storage does not fill was made for a pod.
            choice = _BEGUN
        if choice.strategy is Strategy.COPY:
            return await self._restore(work, known, taken, choice)
        self._say(work, choice)
        reference = {"apiGroup": SNAPSHOTS.group, "kind": SNAPSHOTS.kind, "name": key.name}
        return await self._storage.begin(work, origin, reference, key.namespace, known.told)

    async def _restore(self, work: Work, known: Origin, taken: Taken, choice: Choice) -> Step:
        """For a target that the storage cannot make of its snapshot: a claim that it can, from which a pod copies."""
        snapshot, origin = known.found, known.former
        classes = self._means.classes.cache
        preferred = (self._class(origin) if origin else None, self._class(work.target), class_of({}, classes))
        storage_class = taken.class_among(classes, *preferred)
        if storage_class is None:
            message = (
                f'{choice.why}, so that VolumeSnapshot "{key_of(snapshot)}" must be restored before it is copied, but '
                f"no StorageClass has the provisioner {taken.driver}: create one, and make the claim anew, final"
            )
            return Failed("IncompatibleProvisioners", message)
        self._say(work, choice)
        node = self._storage.node_of(origin, storage_class)
        on_node = name_of(node) if node else ""
        made = await self._restored.make(work.target, snapshot, taken, storage_class, known.told, on_node)
        return await self._from_restored(work, made)

    async def _from_restored(self, work: Work, restored: Object) -> Step:
        # How it is cloned was said before that was made.
        snapshot = key_of_origin(work.source).name
        return await self._copies.begin(work, await self._restored.ready(restored, work.target, snapshot), lambda: None)

    def _say(self, work: Work, choice: Choice) -> None:
        """An event, when it is begun."""
        if work.prime is None:
            message = f"clone strategy {choice.strategy}: {choice.why}"
            self._means.events.record(work.target, "CloneStrategySelected", message)

    def notes(self, prime: Object | None) -> Mapping[str, str]:
        return how(prime) if prime is not None and prime["spec"].get("dataSource") else {}

    async def sweep(self, key: Key, keep: str) -> None:
        if not keep:
            self._storage.forget(key)
        await self._snapshots.sweep(key, keep)
        await self._restored.sweep(key, keep)
        await self._copies.moments.sweep(key, keep)
