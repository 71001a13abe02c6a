"""All objects of the API server: in memory to be read, in SQLite to stay."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ingot.api.object import Object
from ingot.api.status import ApiError, insufficient_storage, internal
from ingot.standalone.jsontext import encode
from ingot.standalone.store.collection import Collection
from ingot.standalone.store.database import Database, Key, Row
from ingot.standalone.store.faults import DatabaseFullError
from ingot.standalone.store.history import Change, Entry, History
from ingot.standalone.store.writer import Writer

Listener = Callable[[Change], None]
log = logging.getLogger(__name__)


class Store:
    """Objects by resource, namespace and name, with one revision that only grows.

    Readers see what is durable. A writer reads with `latest`, which includes writes still on their way to the
    disk, and calls `put` or `remove` before it awaits anything: so every write builds on the one before it, and any
    number of them share one commit. If a commit fails, every write that was on its way fails with it.
    """

    def __init__(self, path: Path) -> None:
        self._database = Database(path)
        self.revision = self._database.fact("revision")
        self._allocated = self.revision
        self._collections: dict[str, Collection] = {}
        for row in self._database.rows():
            resource, namespace, name = row.key
            assert row.value is not None
            self.collection(resource).put(Entry(namespace, name, row.revision, row.value))
        self.history = History(self.revision)
        self._pending: dict[Key, tuple[int, Entry | None]] = {}
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._listeners: list[Listener] = []
        self._writer = Writer(self._database, asyncio.get_running_loop(), self._settled)

    def close(self) -> None:
        self._writer.stop()
        self._database.close()

    def collection(self, resource: str) -> Collection:
        """The durable objects of one resource."""
        found = self._collections.get(resource)
        if found is None:
            found = self._collections[resource] = Collection()
        return found

    def get(self, resource: str, namespace: str, name: str) -> Entry | None:
        return self.collection(resource).get(namespace, name)

    def latest(self, resource: str, namespace: str, name: str) -> Entry | None:
        """What the next write must build on: durable, or on its way there."""
        pending = self._pending.get((resource, namespace, name))
        return pending[1] if pending else self.get(resource, namespace, name)

    async def put(self, resource: str, namespace: str, name: str, obj: Object) -> Entry:
        """Writes the object, whose resourceVersion it sets, and returns when it is durable."""
        self._allocated += 1
        obj["metadata"]["resourceVersion"] = str(self._allocated)
        entry = Entry(namespace, name, self._allocated, encode(obj))
        await self._write((resource, namespace, name), self._allocated, entry)
        return entry

    async def remove(self, resource: str, namespace: str, name: str) -> int:
        """Removes an object that is there and returns the revision of its removal once that is durable."""
        if self.latest(resource, namespace, name) is None:
            raise LookupError(f"{resource} {namespace}/{name} is not there to be removed")
        self._allocated += 1
        revision = self._allocated
        await self._write((resource, namespace, name), revision, None)
        return revision

    async def settled(self) -> None:
        """Returns when every write that was on its way has become durable; raises if one was lost."""
        if self._waiting:
            await asyncio.shield(self._waiting[max(self._waiting)])

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Calls the listener with every change from now on, in order; returns what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def at(self, resource: str, revision: int) -> Iterator[Entry]:
        """The resource's objects as they were at a revision that `history` still reaches, in no order."""
        undone: dict[tuple[str, str], Entry | None] = {}
        for change in self.history.since(revision):
            if change.resource == resource:
                undone.setdefault((change.entry.namespace, change.entry.name), change.old)
        for entry in self.collection(resource):
            if (entry.namespace, entry.name) not in undone:
                yield entry
        yield from (entry for entry in undone.values() if entry is not None)

    def _write(self, key: Key, revision: int, entry: Entry | None) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[revision] = future
        self._pending[key] = (revision, entry)
        self._writer.submit(Row(key, revision, entry.value if entry else None))
        return future

    def _settled(self, rows: Sequence[Row], error: Exception | None) -> None:
        if error is not None:
            self._fail(error)
            return
        for row in rows:
            change = self._publish(row)
            for listener in tuple(self._listeners):
                _tell(listener, change)
            change.frames.clear()
        for row in rows:
            future = self._waiting.pop(row.revision)
            if not future.done():
                future.set_result(None)

    def _publish(self, row: Row) -> Change:
        """Makes a durable row visible to readers."""
        resource, namespace, name = row.key
        collection = self.collection(resource)
        old = collection.get(namespace, name)
        new = None if row.value is None else Entry(namespace, name, row.revision, row.value)
        if new is None:
            collection.remove(namespace, name)
        else:
            collection.put(new)
        if self._pending[row.key][0] == row.revision:
            del self._pending[row.key]
        self.revision = row.revision
        change = Change(resource, row.revision, new, old, {})
        self.history.add(change)
        return change

    def _fail(self, error: Exception) -> None:
        """Takes back every write on its way: those after the lost ones may build on them."""
        waiting, self._waiting = self._waiting, {}
        self._pending.clear()
        self._writer.resume()
        for future in waiting.values():
            if not future.done():
                future.set_exception(_refusal(error))


def _tell(listener: Listener, change: Change) -> None:
    """Whatever a listener makes of a change, the change is made: writers and other listeners hear of it."""
    try:
        listener(change)
    except Exception:
        log.exception("a listener failed on revision %d of %s", change.revision, change.resource)


def _refusal(error: Exception) -> ApiError:
    if isinstance(error, DatabaseFullError):
        return insufficient_storage(str(error))
    return internal(f"the write was not stored: {error}")
