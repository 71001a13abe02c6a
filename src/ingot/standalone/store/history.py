"""What changed lately: the events that a watch resumes from, and the way back to an older list."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

MAX_CHANGES = 10_000
MAX_BYTES = 32 << 20


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One object at rest. `value` is its JSON in the stored version."""

    namespace: str
    name: str
    revision: int
    value: bytes


@dataclass(slots=True, eq=False)
class Change:
    """One committed write. `new` is None after a delete, `old` before a create; a delete has a revision too."""

    resource: str
    revision: int
    new: Entry | None
    old: Entry | None
    # What watchers send of it, rendered once for all that want the same form.
    frames: dict[object, Any]

    @property
    def entry(self) -> Entry:
        entry = self.new or self.old
        assert entry is not None
        return entry


class History:
    """The newest changes, bounded in number and bytes. Nothing before `floor` can be told any more."""

    def __init__(self, floor: int) -> None:
        self.floor = floor
        self._changes: deque[Change] = deque()
        self._bytes = 0

    def add(self, change: Change) -> None:
        self._changes.append(change)
        self._bytes += len(change.entry.value)
        while len(self._changes) > MAX_CHANGES or self._bytes > MAX_BYTES:
            self._forget()

    def _forget(self) -> None:
        change = self._changes.popleft()
        self._bytes -= len(change.entry.value)
        self.floor = change.revision

    def since(self, revision: int) -> Iterator[Change]:
        """Every change after the revision, oldest first. The caller has checked `floor`."""
        newer: list[Change] = []
        for change in reversed(self._changes):
            if change.revision <= revision:
                break
            newer.append(change)
        return reversed(newer)
