"""Watches: each a stream of events that goes straight from the commit to the socket."""

import asyncio
import base64
import random
from collections.abc import Iterable
from itertools import chain
from typing import Any

from aiohttp import web
from aiohttp.http import StreamWriter

from ingot.api.object import Object
from ingot.api.status import ApiError, expired, invalid
from ingot.standalone import fields
from ingot.standalone.http.forms import Former
from ingot.standalone.jsontext import encode
from ingot.standalone.objects.call import Call, flag, whole
from ingot.standalone.objects.reader import check_revision, forbidden_match, list_entries, select
from ingot.standalone.store.history import Change, Entry
from ingot.standalone.store.store import Store

# A client that leaves this much unread has stopped reading: its watch ends, and it may start another.
MAX_UNREAD = 1 << 20
DRAIN_AT = 256 << 10
BOOKMARK_SECONDS = 60.0
# As kube-apiserver: between one and two times its minimum, so that clients do not all come back at once.
MIN_SECONDS = 1800
GONE = 410


class Watch:
    """One client's watch. Events are written in the listener's call: no queue, so nothing to grow."""

    def __init__(self, store: Store, call: Call, former: Former) -> None:
        self._store = store
        self._call = call
        self._former = former
        self._key = call.served.definition.key
        self._matches = select(call)
        self._bookmarks = flag(call.query, "allowWatchBookmarks")
        # One rendering serves all watches of the same version and form.
        self._form = (call.served, former.form, former.include)
        self._first = True
        self._transport: asyncio.WriteTransport | None = None
        # Events that came while the backlog was being written; None once it is.
        self._held: list[bytes] | None = []
        self._held_bytes = 0
        self._ended = asyncio.Event()

    async def run(self, request: web.BaseRequest) -> web.StreamResponse:
        """Streams events until the client, the time limit or the server ends it."""
        try:
            backlog = self._backlog()
        except ApiError as error:
            if error.code != GONE:
                raise
            backlog = [error_frame(error)]
            self.end()
        response = web.StreamResponse(
            headers={"Content-Type": self._former.stream_type, "Cache-Control": "no-cache, private"}
        )
        response.enable_chunked_encoding()
        # No change falls between the backlog, which is fixed by now, and what the listener hears.
        forget = self._store.listen(self._on_change)
        try:
            writer = await response.prepare(request)
            assert isinstance(writer, StreamWriter)
            writer.send_headers()
            await self._replay(request, writer, backlog)
            await self._follow()
        finally:
            forget()
        return response

    async def _replay(self, request: web.BaseRequest, writer: StreamWriter, backlog: Iterable[bytes]) -> None:
        """Writes the backlog at the client's pace, then what was held back meanwhile."""
        transport = self._transport = request.transport
        assert transport is not None
        for frame in backlog:
            transport.write(frame)
            if transport.get_write_buffer_size() > DRAIN_AT:
                await writer.drain()
        held, self._held = self._held or [], None
        for frame in held:
            self._send(frame)

    async def _follow(self) -> None:
        asked = whole(self._call.query.get("timeoutSeconds", ""))
        seconds = asked or MIN_SECONDS * (1 + random.random())  # noqa: S311
        try:
            async with asyncio.timeout(seconds):
                await self._until_ended()
        except TimeoutError:
            self._bookmark()

    def end(self) -> None:
        self._ended.set()

    async def _until_ended(self) -> None:
        while not self._ended.is_set():
            try:
                async with asyncio.timeout(BOOKMARK_SECONDS):
                    await self._ended.wait()
            except TimeoutError:
                self._bookmark()

    def _backlog(self) -> Iterable[bytes]:
        """The events up to now; raises where the watch cannot start from what it names."""
        store, query = self._store, self._call.query
        _check_initial(query)
        revision = check_revision(store, query.get("resourceVersion", ""))
        if flag(query, "sendInitialEvents"):
            return chain(self._existing(), [self._initial_end()] if self._bookmarks else ())
        if not revision and query.get("sendInitialEvents") is None:
            return self._existing()
        if revision and revision < store.history.floor:
            raise expired(f"too old resource version: {revision} ({store.history.floor})")
        changes = list(store.history.since(revision or store.revision))
        return (frame for change in changes if (frame := self._past(change)))

    def _past(self, change: Change) -> bytes | None:
        frame = self._frame(change)
        change.frames.clear()
        return frame

    def _existing(self) -> Iterable[bytes]:
        listing = list_entries(self._store, self._list_call())
        return (self._render("ADDED", self._call.served.read(entry)) for entry in listing.entries)

    def _list_call(self) -> Call:
        kept = {key: value for key, value in self._call.query.items() if key in ("labelSelector", "fieldSelector")}
        call = self._call
        return Call(call.served, "list", call.namespace, call.name, "", call.user, kept)

    def _on_change(self, change: Change) -> None:
        if change.resource != self._key:
            return
        try:
            frame = self._frame(change)
        except Exception:
            # An event that cannot be told must not be left out in silence: the client starts again.
            self._give_up()
            raise
        if frame:
            self._send(frame)

    def _frame(self, change: Change) -> bytes | None:
        """The event that this watch sends for a change, or None where it does not concern it."""
        if change.resource != self._key or self._call.namespace not in ("", change.entry.namespace):
            return None
        event = self._event_type(change)
        if event is None:
            return None
        if self._first and self._former.form.kind == "Table":
            return self._render(event, self._object(change, event))
        key = (self._form, event)
        if key not in change.frames:
            change.frames[key] = self._render(event, self._object(change, event))
        frame: bytes = change.frames[key]
        return frame

    def _event_type(self, change: Change) -> str | None:
        if self._matches is None:
            return "DELETED" if change.new is None else "MODIFIED" if change.old else "ADDED"
        was = change.old is not None and self._matches(self._read(change, change.old))
        now = change.new is not None and self._matches(self._read(change, change.new))
        if now:
            return "MODIFIED" if was else "ADDED"
        return "DELETED" if was else None

    def _read(self, change: Change, entry: Entry) -> Object:
        key = (self._call.served, entry.revision)
        if key not in change.frames:
            change.frames[key] = self._call.served.read(entry)
        obj: Object = change.frames[key]
        return obj

    def _object(self, change: Change, event: str) -> Object:
        if event != "DELETED":
            assert change.new is not None
            return self._call.served.read(change.new)
        assert change.old is not None
        obj = self._call.served.read(change.old)
        obj["metadata"]["resourceVersion"] = str(change.revision)
        return obj

    def _render(self, event: str, obj: Object) -> bytes:
        shaped = self._former.watched(obj, self._first)
        self._first = False
        return frame_of({"type": event, "object": shaped})

    def _bookmark(self) -> None:
        if self._bookmarks:
            self._send(self._mark({}))

    def _initial_end(self) -> bytes:
        blueprint = base64.b64encode(self._former.blueprint()).decode()
        return self._mark(
            {"k8s.io/initial-events-end": "true", "kubernetes.io/initial-events-list-blueprint": blueprint}
        )

    def _mark(self, annotations: dict[str, str]) -> bytes:
        served = self._call.served
        meta: dict[str, Any] = {"resourceVersion": str(self._store.revision), "creationTimestamp": None}
        if annotations:
            meta["annotations"] = annotations
        obj = {"kind": served.definition.kind, "apiVersion": served.api_version, "metadata": meta}
        return frame_of({"type": "BOOKMARK", "object": self._former.watched(obj, False)})

    def _send(self, frame: bytes) -> None:
        transport = self._transport
        if self._held is not None:
            self._held.append(frame)
            self._held_bytes += len(frame)
            if self._held_bytes > MAX_UNREAD:
                self._give_up()
        elif transport is None or transport.is_closing():
            self.end()
        elif transport.get_write_buffer_size() > MAX_UNREAD:
            self._give_up()
        else:
            transport.write(frame)

    def _give_up(self) -> None:
        self._held, self._held_bytes = [], 0
        if self._transport:
            self._transport.abort()
        self.end()


def frame_of(event: Object) -> bytes:
    """An event as one chunk of a chunked answer."""
    line = encode(event) + b"\n"
    return b"%x\r\n%b\r\n" % (len(line), line)


def error_frame(error: ApiError) -> bytes:
    return frame_of({"type": "ERROR", "object": error.status()})


def _check_initial(query: Any) -> None:
    initial, match = query.get("sendInitialEvents"), query.get("resourceVersionMatch", "")
    causes = []
    if initial is not None and match != "NotOlderThan":
        causes.append(forbidden_match("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
    if match and initial is None:
        why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        causes.append(forbidden_match(why))
    if match not in ("", "NotOlderThan"):
        causes.append(fields.not_supported("resourceVersionMatch", match, ("NotOlderThan",)))
    if match and query.get("continue"):
        causes.append(forbidden_match("resourceVersionMatch is forbidden when continue is provided"))
    if causes:
        raise invalid("meta.k8s.io", "ListOptions", "", causes)
