"""Who owns whom: owner references, indexed by the owner's uid."""

import msgspec

from ingot.standalone.store.history import Change, Entry

# (resource key, namespace, name)
Node = tuple[str, str, str]


class Owner(msgspec.Struct, rename="camel"):
    """One owner reference."""

    api_version: str
    kind: str
    name: str
    uid: str
    block_owner_deletion: bool = False


class Meta(msgspec.Struct, rename="camel"):
    """The part of an object's metadata that decides whether it goes."""

    uid: str = ""
    owner_references: list[Owner] = []
    finalizers: list[str] = []
    deletion_timestamp: str | None = None


class _Shell(msgspec.Struct):
    metadata: Meta


_decode = msgspec.json.Decoder(_Shell).decode


def meta_of(entry: Entry) -> Meta:
    return _decode(entry.value).metadata


class Owners:
    """The dependents of every owner, kept current by `note`."""

    def __init__(self) -> None:
        self._dependents: dict[str, set[Node]] = {}

    def dependents(self, uid: str) -> set[Node]:
        return set(self._dependents.get(uid, ()))

    def note(self, change: Change) -> tuple[Meta, Meta]:
        """Takes the change into the index; returns the metadata before and after it."""
        node = (change.resource, change.entry.namespace, change.entry.name)
        before = meta_of(change.old) if change.old else Meta()
        after = meta_of(change.new) if change.new else Meta()
        was = {owner.uid for owner in before.owner_references}
        now = {owner.uid for owner in after.owner_references}
        for uid in was - now:
            self._drop(uid, node)
        for uid in now - was:
            self._dependents.setdefault(uid, set()).add(node)
        return before, after

    def _drop(self, uid: str, node: Node) -> None:
        nodes = self._dependents.get(uid, set())
        nodes.discard(node)
        if not nodes:
            self._dependents.pop(uid, None)
