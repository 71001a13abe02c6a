"""Clones: claims that a VolumeCloneSource fills with what is in another claim or in a snapshot (G10).

The prime is made where the origin is, for nothing reads a claim of another namespace; its volume crosses over.
"""

from collections.abc import Iterable, Mapping

from ingot.api.cdi import names, size
from ingot.api.cdi.clone_faults import Origin
from ingot.api.cdi.filling import is_being_filled
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import CLONE_SOURCES, INSTANCES, NODES, SNAPSHOTS, VOLUME_CLAIMS
from ingot.control.setbacks import Setbacks
from ingot.control.snapshots.kinds import snapshot_kinds
from ingot.control.volumes import prime
from ingot.control.volumes.claim import is_local
from ingot.control.volumes.clone_copy import Copies
from ingot.control.volumes.clone_snapshot import CloneSnapshots
from ingot.control.volumes.clone_strategy import Choice, Circumstances, Strategy, choose
from ingot.control.volumes.filler import (
    Filled,
    Hindered,
    Means,
    Reading,
    Running,
    Soon,
    Step,
    Waiting,
    Words,
    Work,
)
from ingot.control.volumes.marks import annotation, is_bound
from ingot.control.volumes.origin import Origins, by_origin, key_of_origin, kind_of
from ingot.control.volumes.placement import is_delayed, node_of
from ingot.control.volumes.waking import volumes_of
from ingot.kube.cache import Key, key_of
from ingot.kube.controller import Controller
from ingot.kube.manager import Manager
from ingot.kube.objects import is_deleting

_BY_ORIGIN, _BY_SOURCE = "clone-origin", "cloned-from"
# How often a snapshot is looked for where the server has not got the kind.
_LOOK_SECONDS = 30.0
# How often it is looked whether a DataVolume leads to another namespace by now.
_ALLOWED_SECONDS = 5.0
# What the storage clones within this time is told of when it is done.
_QUICK_SECONDS = 1.0
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
        self._begun: dict[Key, float] = {}
        self._kinds = snapshot_kinds(manager, means.clock)
        self._origins = Origins(manager)
        self._setbacks = Setbacks(manager)
        self._nodes = manager.informer(NODES)
        self._instances = manager.informer(INSTANCES)
        self._sources = manager.informer(CLONE_SOURCES)
        self._sources.cache.add_index(_BY_ORIGIN, by_origin)
        means.claims.cache.add_index(_BY_SOURCE, _by_source)
        self._snapshots = CloneSnapshots(means.client, self._kinds)
        self._copies = Copies(means, manager)

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
            return self._by_storage(work.prime, work.target)
        if kind_of(work.source) == SNAPSHOTS:
            return await self._from_snapshot(work)
        return await self._from_claim(work)

    async def _from_claim(self, work: Work) -> Step:
        key = key_of_origin(work.source)
        if work.prime is not None and work.pod is not None:
            return await self._copies.follow(work)
        origin = self._ready(key)
        if fault := await self._origins.unsuitable(work.target, Origin(VOLUME_CLAIMS, origin)):
            return fault
        # A prime that the storage does not fill was made for a pod.
        choice = self._choice(work.target, origin) if work.prime is None else _BEGUN
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
        return await self._prime(work.target, origin, reference, least=least)

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

    def _choice(self, target: Object, origin: Object) -> Choice:
        volume = self._means.volumes.cache.get(Key("", origin["spec"]["volumeName"]))
        seen = Circumstances(
            target=target,
            origin=origin,
            target_class=self._class(target),
            origin_class=self._class(origin),
            node=node_of(volume, self._nodes.cache),
        )
        return choose(seen, self._kinds)

    def _class(self, claim: Object) -> Object | None:
        return self._means.classes.cache.get(Key("", claim["spec"].get("storageClassName") or ""))

    async def _from_snapshot(self, work: Work) -> Step:
        key = key_of_origin(work.source)
        shown = f'VolumeSnapshot "{key}", which is to be cloned,'
        if not self._kinds.are_served:
            message = f"{shown} does not exist, nor does the kind: install snapshot.storage.k8s.io; tried again"
            return Waiting("CloneSourceNotFound", message, _LOOK_SECONDS)
        snapshot = self._kinds.snapshots.cache.get(key)
        if snapshot is None:
            return Waiting("CloneSourceNotFound", f"{shown} does not exist: it is cloned once it does; tried again")
        if not (snapshot.get("status") or {}).get("readyToUse"):
            return Waiting("CloneSourceNotReady", f"{shown} is not ready yet: it is cloned once it is; tried again")
        if fault := await self._origins.unsuitable(work.target, Origin(SNAPSHOTS, snapshot)):
            return fault
        self._say(work, Choice(Strategy.SNAPSHOT, "the source is a VolumeSnapshot"))
        reference = {"apiGroup": SNAPSHOTS.group, "kind": SNAPSHOTS.kind, "name": key.name}
        origin = self._means.claims.cache.get(
            Key(key.namespace, snapshot["spec"]["source"].get("persistentVolumeClaimName") or "")
        )
        return await self._prime(work.target, origin, reference, namespace=key.namespace)

    async def _prime(
        self, target: Object, origin: Object | None, reference: Object, namespace: str = "", least: int = 0
    ) -> Step:
        """The prime, which the storage fills from what is referred to, on the node where that is. It has the `least`
        that storage makes of it, where that gave the origin more than it asked for."""
        volume = self._means.volumes.cache.get(Key("", (origin or {"spec": {}})["spec"].get("volumeName") or ""))
        storage_class = self._class(target)
        node = node_of(volume, self._nodes.cache) or self._local_node(storage_class)
        made = await prime.ensure(
            self._means.client,
            target,
            namespace or namespace_of(origin or target),
            node=name_of(node) if node else "",
            provisioner=storage_class["provisioner"]
            if storage_class and (node or not is_delayed(storage_class))
            else "",
            dataSource=reference,
            resources=size.enlarged(target["spec"], least),
        )
        return self._by_storage(made, target)

    def _local_node(self, storage_class: Object | None) -> Object | None:
        """The node with local volumes, for a snapshot whose claim is gone; None where there are several."""
        found = [node for node in self._nodes.cache.list() if annotation(node, names.SHARES_BLOCKS)]
        return found[0] if is_local(storage_class) and len(found) == 1 else None

    def _by_storage(self, filled: Object, target: Object) -> Step:
        """How far the storage is with a prime."""
        notes = _notes(filled)
        for volume in volumes_of(self._means.volumes.cache, uid_of(filled)):
            # Whoever makes volumes does so after their content. Nobody waits until the prime is bound to it as well.
            return Filled({**filled, "spec": {**filled["spec"], "volumeName": name_of(volume)}}, notes=notes)
        if why := self._setbacks.last(filled):
            return Waiting("CloneDelayed", why if "tried again" in why else f"{why}; tried again", notes=notes)
        now = self._means.clock.monotonic()
        if now - self._begun.setdefault(key_of(target), now) < _QUICK_SECONDS:
            return Soon(_QUICK_SECONDS)
        done, _, total = annotation(filled, names.CLONE_PROGRESS).partition("/")
        reading = Reading(int(done), int(total), 0) if done.isdecimal() and total.isdecimal() else None
        return Running(f"the storage clones it ({notes[names.CLONE_TYPE]})", reading, notes=notes)

    def _say(self, work: Work, choice: Choice) -> None:
        """An event, when it is begun."""
        if work.prime is None:
            message = f"clone strategy {choice.strategy}: {choice.why}"
            self._means.events.record(work.target, "CloneStrategySelected", message)

    def notes(self, prime: Object | None) -> Mapping[str, str]:
        return _notes(prime) if prime is not None and prime["spec"].get("dataSource") else {}

    async def sweep(self, key: Key, keep: str) -> None:
        if not keep:
            self._begun.pop(key, None)
        await self._snapshots.sweep(key, keep)
        await self._copies.moments.sweep(key, keep)


def _notes(prime: Object) -> dict[str, str]:
    """What a target tells of how the storage filled its prime."""
    from_snapshot = prime["spec"]["dataSource"]["kind"] == SNAPSHOTS.kind
    return {names.CLONE_TYPE: str(Strategy.SNAPSHOT if from_snapshot else Strategy.CSI_CLONE)}
