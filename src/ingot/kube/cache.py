"""Objects in memory, found by name or through an index."""

import logging
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from ingot.api.object import Object, name_of, namespace_of

log = logging.getLogger(__name__)


class Key(NamedTuple):
    """The name of an object within its kind; `namespace` is "" for kinds of the whole cluster."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def key_of(obj: Object) -> Key:
    return Key(namespace_of(obj), name_of(obj))


Objects: TypeAlias = list[Object]
# The values under which an object is found: none, one or many, any strings.
Indexer: TypeAlias = Callable[[Object], Iterable[str]]

NAMESPACE = "namespace"
OWNER = "owner"


def _by_namespace(obj: Object) -> Iterable[str]:
    return (namespace_of(obj),)


def _by_owner(obj: Object) -> Iterable[str]:
    return [str(reference.get("uid", "")) for reference in obj.get("metadata", {}).get("ownerReferences") or ()]


class Cache:
    """What an informer knows. The indexes `namespace` and `owner` (by the owners' uids) are always there.

    Answers are snapshots: a list that was handed out never changes, and an object in it is never altered, only
    replaced in the cache by its next version. They are shared, so that whoever reads one must not alter it
    either: take `objects.copy_of` first.
    """

    def __init__(self) -> None:
        self._objects: dict[Key, Object] = {}
        self._indexers: dict[str, Indexer] = {}
        self._indexes: dict[str, dict[str, dict[Key, None]]] = {}
        self.add_index(NAMESPACE, _by_namespace)
        self.add_index(OWNER, _by_owner)

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, key: Key) -> Object | None:
        return self._objects.get(key)

    def list(self, namespace: str = "") -> Objects:
        """Everything, or what is in `namespace`."""
        return self.by_index(NAMESPACE, namespace) if namespace else list(self._objects.values())

    def keys(self) -> set[Key]:
        return set(self._objects)

    def by_index(self, index: str, value: str) -> Objects:
        """The objects for which the indexer gives `value`. KeyError for an index that was never added."""
        return [self._objects[key] for key in self._indexes[index].get(value, ())]

    def add_index(self, name: str, indexer: Indexer) -> None:
        """Add an index over what is there and what comes. A name stands for one function for good."""
        if self._indexers.get(name, indexer) is not indexer:
            raise ValueError(f'there is an index "{name}" with another function')
        self._indexers[name] = indexer
        self._indexes[name] = {}
        for key, obj in self._objects.items():
            self._index(name, key, None, obj)

    def put(self, key: Key, obj: Object) -> Object | None:
        """Store the newest version; returns the one before it. For the informer only."""
        old = self._objects.get(key)
        self._objects[key] = obj
        for name in self._indexers:
            self._index(name, key, old, obj)
        return old

    def drop(self, key: Key) -> Object | None:
        """Remove an object; returns it. For the informer only."""
        old = self._objects.pop(key, None)
        if old is not None:
            for name in self._indexers:
                self._index(name, key, old, None)
        return old

    def _index(self, name: str, key: Key, old: Object | None, new: Object | None) -> None:
        before, after = self._values(name, old), self._values(name, new)
        if before == after:
            return
        index = self._indexes[name]
        for value in before - after:
            index[value].pop(key, None)
            if not index[value]:
                del index[value]
        for value in after - before:
            index.setdefault(value, {})[key] = None

    def _values(self, name: str, obj: Object | None) -> set[str]:
        if obj is None:
            return set()
        try:
            return set(self._indexers[name](obj))
        except Exception:
            # One malformed object must not take the whole cache down.
            log.exception('index "%s" failed for %s', name, key_of(obj))
            return set()
