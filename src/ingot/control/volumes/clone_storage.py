"""Clones that the storage makes itself, of a claim or a snapshot: it fills the prime with what that refers to."""

from collections.abc import Mapping

from ingot.api.cdi import names, size
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import SNAPSHOTS
from ingot.control.setbacks import Setbacks
from ingot.control.volumes import placement, prime
from ingot.control.volumes.claim import is_local
from ingot.control.volumes.clone_strategy import Strategy
from ingot.control.volumes.filler import Filled, Means, Reading, Running, Soon, Step, Waiting, Work
from ingot.control.volumes.marks import annotation
from ingot.control.volumes.waking import volumes_of
from ingot.kube.cache import Key, key_of
from ingot.kube.informer import Informer

# What the storage clones within this time is told of when it is done.
_QUICK_SECONDS = 1.0


class StorageClones:
    """Makes primes, and tells how far the storage is with them."""

    def __init__(self, means: Means, nodes: Informer, setbacks: Setbacks) -> None:
        self._means = means
        self._nodes = nodes
        self._setbacks = setbacks
        self._begun: dict[Key, float] = {}

    async def begin(
        self, work: Work, origin: Object | None, reference: Object, namespace: str, held: str, least: int = 0
    ) -> Step:
        """The prime, which the storage fills from what is referred to, on the node where that is; it tells that this is
        `held` in it. It has the `least` that storage makes of it, where that gave the origin more than it asked for."""
        target = work.target
        storage_class = self._means.classes.cache.get(Key("", target["spec"].get("storageClassName") or ""))
        node = self.node_of(origin, storage_class)
        made = await prime.ensure(
            self._means.client,
            target,
            work.source,
            namespace,
            node=name_of(node) if node else "",
            provisioner=storage_class["provisioner"]
            if storage_class and (node or not placement.is_delayed(storage_class))
            else "",
            annotations={names.CONTENT_TYPE: held} if held else {},
            dataSource=reference,
            resources=size.enlarged(target["spec"], least),
        )
        return self.follow(made, target)

    def node_of(self, origin: Object | None, storage_class: Object | None) -> Object | None:
        """The node that the origin is on; None where it is on none, or nobody knows."""
        volume = self._means.volumes.cache.get(Key("", (origin or {"spec": {}})["spec"].get("volumeName") or ""))
        return placement.node_of(volume, self._nodes.cache) or self._local_node(storage_class)

    def _local_node(self, storage_class: Object | None) -> Object | None:
        """The node with local volumes, for a snapshot whose claim is gone; None where there are several."""
        found = [node for node in self._nodes.cache.list() if annotation(node, names.SHARES_BLOCKS)]
        return found[0] if is_local(storage_class) and len(found) == 1 else None

    def follow(self, filled: Object, target: Object) -> Step:
        """How far the storage is with a prime."""
        notes = how(filled)
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

    def forget(self, key: Key) -> None:
        """Nothing is to be filled there any more."""
        self._begun.pop(key, None)


def how(filled: Object) -> Mapping[str, str]:
    """What a target tells of how the storage filled its prime, and with what."""
    from_snapshot = filled["spec"]["dataSource"]["kind"] == SNAPSHOTS.kind
    told = {names.CLONE_TYPE: str(Strategy.SNAPSHOT if from_snapshot else Strategy.CSI_CLONE)}
    held = annotation(filled, names.CONTENT_TYPE)
    return {**told, names.CONTENT_TYPE: held} if held else told
