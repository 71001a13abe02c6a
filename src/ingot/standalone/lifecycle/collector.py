"""The garbage collector: dependents go with their owners, in the background, first, or not at all."""

from ingot.api.object import Object
from ingot.standalone.lifecycle.inside import Inside
from ingot.standalone.lifecycle.owners import Meta, Node, Owner, Owners, meta_of
from ingot.standalone.lifecycle.worker import Worker
from ingot.standalone.objects.deleter import FOREGROUND, ORPHAN
from ingot.standalone.objects.deletion import Options
from ingot.standalone.objects.world import World
from ingot.standalone.resources.definition import Definition
from ingot.standalone.store.history import Change


class Collector(Worker[Node]):
    """Looks at an object whenever it, one of its owners or one of its dependents has changed."""

    def __init__(self, world: World) -> None:
        super().__init__(world.store)
        self._world = world
        self._inside = Inside(world, "kube-controller-manager")
        self._owners = Owners()
        for definition in world.catalog:
            for entry in world.store.collection(definition.key):
                self.on_change(Change(definition.key, entry.revision, entry, None, {}))

    def on_change(self, change: Change) -> None:
        before, after = self._owners.note(change)
        node = (change.resource, change.entry.namespace, change.entry.name)
        if after.owner_references or after.deletion_timestamp:
            self.queue.add(node)
        if change.new is None:
            for dependent in self._owners.dependents(before.uid):
                self.queue.add(dependent)
        # An owner that deletes its dependents first waits to hear that they are gone.
        for owner in before.owner_references:
            if found := self._node_of(owner, change.entry.namespace):
                self.queue.add(found)

    async def work(self, node: Node) -> None:
        definition = self._world.catalog.of_key(node[0])
        entry = self.store.latest(*node)
        if definition is None or entry is None:
            return
        meta = meta_of(entry)
        if meta.deletion_timestamp and ORPHAN in meta.finalizers:
            await self._orphan(node, definition, meta)
        elif meta.deletion_timestamp and FOREGROUND in meta.finalizers:
            await self._delete_dependents(node, definition, meta)
        elif meta.owner_references and not meta.deletion_timestamp:
            await self._judge(node, definition, meta)

    async def _orphan(self, node: Node, definition: Definition, meta: Meta) -> None:
        for dependent in self._owners.dependents(meta.uid):
            if found := self._world.catalog.of_key(dependent[0]):
                await self._drop_owners(dependent, found, {meta.uid})
        await self._drop_finalizer(node, definition, ORPHAN)

    async def _delete_dependents(self, node: Node, definition: Definition, meta: Meta) -> None:
        blocking = False
        for dependent in self._owners.dependents(meta.uid):
            entry = self.store.latest(*dependent)
            if entry is None:
                continue
            theirs = meta_of(entry)
            blocking |= any(owner.uid == meta.uid and owner.block_owner_deletion for owner in theirs.owner_references)
            if not theirs.deletion_timestamp:
                self.queue.add(dependent)
        if not blocking:
            await self._drop_finalizer(node, definition, FOREGROUND)

    async def _judge(self, node: Node, definition: Definition, meta: Meta) -> None:
        """Deletes an object that no owner holds any more; lets go of owners that are gone where others hold it."""
        states = {owner.uid: self._state(owner, node[1]) for owner in meta.owner_references}
        if "unknown" in states.values():
            return
        lost = {uid for uid, state in states.items() if state != "holds"}
        if not lost:
            return
        if "holds" in states.values():
            await self._drop_owners(node, definition, lost)
            return
        waiting = "waits" in states.values() and self._owners.dependents(meta.uid)
        policy = "Foreground" if waiting else "Background"
        # A policy that the object's own finalizers ask for stays.
        if ORPHAN in meta.finalizers:
            policy = "Orphan"
        elif FOREGROUND in meta.finalizers:
            policy = "Foreground"
        await self._inside.delete(definition, node[1], node[2], Options(policy=policy, uid=meta.uid))

    def _state(self, owner: Owner, namespace: str) -> str:
        """holds; gone; waits, for its dependents to go first; unknown, where its kind is not served."""
        node = self._node_of(owner, namespace)
        if node is None:
            return "unknown"
        entry = self.store.latest(*node)
        if entry is None or (meta := meta_of(entry)).uid != owner.uid:
            return "gone"
        return "waits" if meta.deletion_timestamp and FOREGROUND in meta.finalizers else "holds"

    def _node_of(self, owner: Owner, namespace: str) -> Node | None:
        definition = self._world.catalog.of_kind(owner.api_version, owner.kind)
        if definition is None:
            return None
        return (definition.key, namespace if definition.namespaced else "", owner.name)

    async def _drop_owners(self, node: Node, definition: Definition, uids: set[str]) -> None:
        def make(obj: Object) -> Object:
            meta = obj["metadata"]
            kept = [owner for owner in meta.get("ownerReferences", ()) if owner["uid"] not in uids]
            _set_or_drop(meta, "ownerReferences", kept)
            return obj

        await self._inside.change(definition, node[1], node[2], make)

    async def _drop_finalizer(self, node: Node, definition: Definition, finalizer: str) -> None:
        def make(obj: Object) -> Object:
            meta = obj["metadata"]
            _set_or_drop(meta, "finalizers", [name for name in meta.get("finalizers", ()) if name != finalizer])
            return obj

        await self._inside.change(definition, node[1], node[2], make)


def _set_or_drop(meta: Object, key: str, values: list[object]) -> None:
    if values:
        meta[key] = values
    else:
        meta.pop(key, None)
