"""The objects of one resource, in the order in which lists give them."""

from bisect import bisect_left
from collections.abc import Iterator

from ingot.standalone.store.history import Entry


class Collection:
    """Entries by namespace and name; iterates sorted by both, as etcd's keys do."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], Entry] = {}
        # Sorted on demand: creates come in bursts, and a burst needs one sort.
        self._order: list[tuple[str, str]] | None = []

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        for key in tuple(self._sorted()):
            if entry := self._entries.get(key):
                yield entry

    def get(self, namespace: str, name: str) -> Entry | None:
        return self._entries.get((namespace, name))

    def put(self, entry: Entry) -> None:
        key = (entry.namespace, entry.name)
        if key not in self._entries:
            self._order = None
        self._entries[key] = entry

    def remove(self, namespace: str, name: str) -> None:
        if self._entries.pop((namespace, name), None) is not None:
            self._order = None

    def within(self, namespace: str) -> Iterator[Entry]:
        """The entries of one namespace, or all for ""."""
        if not namespace:
            yield from self
            return
        order = self._sorted()
        start = bisect_left(order, (namespace, ""))
        end = bisect_left(order, (namespace + "\0", ""))
        for key in order[start:end]:
            if entry := self._entries.get(key):
                yield entry

    def _sorted(self) -> list[tuple[str, str]]:
        if self._order is None:
            self._order = sorted(self._entries)
        return self._order
