"""A value and what it was before an update: what did not change is not held against the update."""

import json
from typing import Any

from ingot.standalone.schema.node import Node

_SCALARS = (bool, int, float, str)


def map_key(item: Any, keys: tuple[str, ...]) -> tuple[Any, ...] | None:
    """What tells an item of a list-map from the others; None for what is no such item."""
    if not isinstance(item, dict) or not keys:
        return None
    found = []
    for name in keys:
        value = item.get(name)
        if not isinstance(value, _SCALARS):
            return None
        found.append((type(value), value))
    return tuple(found)


class MapList:
    """The items of a list-map by their keys; of doubled ones the first."""

    def __init__(self, items: list[Any], node: Node) -> None:
        self._keys = node.map_keys if node.list_type == "map" else ()
        self._items: dict[tuple[Any, ...], Any] = {}
        if self._keys:
            for item in items:
                identity = map_key(item, self._keys)
                if identity is not None:
                    self._items.setdefault(identity, item)

    def get(self, item: Any) -> Any:
        """The item with the same keys, or None."""
        identity = map_key(item, self._keys)
        return None if identity is None else self._items.get(identity)


class Pair:
    """The two values and their schema. Items correlate in list-maps only: elsewhere a position means nothing."""

    def __init__(self, new: Any, old: Any, node: Node) -> None:
        self.new = new
        self.old = old
        self.node = node
        self._list: MapList | None = None
        self._unchanged: bool | None = None

    def key(self, name: str) -> "Pair | None":
        """The pair of a field that both have, and that has a schema."""
        if not isinstance(self.new, dict) or not isinstance(self.old, dict):
            return None
        if name not in self.new or name not in self.old:
            return None
        schema = self.node.field(name)
        return None if schema is None else Pair(self.new[name], self.old[name], schema)

    def index(self, position: int) -> "Pair | None":
        """The pair of an item of a list-map with the old item of the same keys."""
        if not isinstance(self.new, list) or not isinstance(self.old, list):
            return None
        if self._list is None:
            self._list = MapList(self.old, self.node)
        before = self._list.get(self.new[position])
        if before is None or self.node.items is None:
            return None
        return Pair(self.new[position], before, self.node.items)

    def unchanged(self) -> bool:
        if self._unchanged is None:
            self._unchanged = self._compare()
        return self._unchanged

    def _compare(self) -> bool:
        new, old = self.new, self.old
        if isinstance(new, dict) and isinstance(old, dict):
            # A field without a schema cannot be correlated, so it counts as a change.
            return len(new) == len(old) and all((pair := self.key(name)) and pair.unchanged() for name in new)
        if isinstance(new, list) and isinstance(old, list) and self.node.list_type == "map":
            return len(new) == len(old) and all(
                (pair := self.index(position)) and pair.unchanged() for position in range(len(new))
            )
        return same(new, old)


def same(new: Any, old: Any) -> bool:
    """Equality of JSON in which 1, 1.0 and true are three values."""
    if type(new) is not type(old):
        return False
    if isinstance(new, dict | list):
        return json.dumps(new, sort_keys=True) == json.dumps(old, sort_keys=True)
    return bool(new == old)
