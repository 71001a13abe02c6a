"""A cache that follows a collection on the server: list once, then watch, and list again when history is lost."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from typing import TypeAlias, Unpack

from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.status import ApiError
from ingot.kube.cache import Cache, Key, key_of
from ingot.kube.client import PAGE, Client, Selection
from ingot.kube.clock import SYSTEM, Clock, Timer
from ingot.kube.limits import Backoff, jitter
from ingot.kube.sharing import shared
from ingot.kube.transport import ConnectionFailed
from ingot.kube.watch import WatchEvent

log = logging.getLogger(__name__)

# Called with (None, new), (old, new) or (old, None). It must be quick and must not alter either.
Handler: TypeAlias = Callable[[Object | None, Object | None], None]
Transform: TypeAlias = Callable[[Object], Object]

WATCH_SECONDS = 300
# A watch that lived this long was a good one: what follows its end is not a failure.
GOOD_SECONDS = 30.0


def drop_managed_fields(obj: Object) -> Object:
    """Who wrote which field is a third of many objects, and controllers never read it."""
    obj.get("metadata", {}).pop("managedFields", None)
    return obj


class Informer:
    """`cache` mirrors what is on the server, some milliseconds late; handlers hear of every difference.

    Between the object a handler was last told and the one it is told next there may be any number of changes.
    None is lost for good: what was deleted while the connection was down is told as a deletion, an object that
    was replaced by another of the same name as a deletion and a creation.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource,
        namespace: str = "",
        *,
        transform: Transform = drop_managed_fields,
        resync: float = 0.0,
        page: int = PAGE,
        clock: Clock = SYSTEM,
        **selection: Unpack[Selection],
    ) -> None:
        """`resync` tells handlers of every object again, unchanged, that often (seconds; 0: never)."""
        self.resource = resource
        self.cache = Cache()
        self._client = client
        self._namespace = namespace
        self._transform = transform
        self._resync = resync
        self._page = page
        self._clock = clock
        self._selection = selection
        self._handlers: list[Handler] = []
        self._version = ""
        self._synced = asyncio.Event()
        self._moved = False
        self._timer: Timer | None = None

    @property
    def has_synced(self) -> bool:
        """Whether the cache has held everything once."""
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        await self._synced.wait()

    def add_handler(self, handler: Handler) -> None:
        """Tell `handler` of everything that is there, then of every difference."""
        self._handlers.append(handler)
        for obj in self.cache.list():
            self._tell(handler, None, obj)

    async def run(self) -> None:
        """Keep the cache true until cancelled. Survives whatever the server or the network does."""
        backoff: Backoff[str] = Backoff(0.1, 30.0)
        self._timer = self._clock.call_later(self._resync, self._tell_all) if self._resync else None
        try:
            while True:
                began, self._moved = self._clock.monotonic(), False
                problem = await self._round()
                if self._moved or self._clock.monotonic() - began >= GOOD_SECONDS:
                    backoff.succeeded("")
                if problem or not self._moved:
                    delay = jitter(backoff.failed(""))
                    if problem:
                        log.warning("%s: %s; again in %.1f s", self.resource.qualified, problem, delay)
                    await self._clock.sleep(delay)
        finally:
            if self._timer:
                self._timer.cancel()

    async def _round(self) -> str:
        """List if need be, then watch until that ends; says what went wrong, "" if nothing did."""
        try:
            if not self._version:
                await self._relist()
            await self._follow()
        except ConnectionFailed as error:
            return str(error)
        except ApiError as error:
            # 410 says that history is gone. After any other refusal, too, only a list tells where we stand.
            self._version = ""
            return f"{error.code} {error.message}"
        return ""

    async def _relist(self) -> None:
        try:
            await self._list(self._page)
        except ApiError as error:
            if error.code != 410 or not self._page:
                raise
            # The snapshot expired between two pages: take the next one whole.
            await self._list(0)
        self._synced.set()

    async def _list(self, limit: int) -> None:
        version = ""
        seen: set[Key] = set()
        pages = self._client.pages(self.resource, self._namespace, limit=limit, **self._selection)
        async for page in pages:
            version = page.get("metadata", {}).get("resourceVersion", "")
            for obj in page["items"]:
                seen.add(key_of(obj))
                self._put(obj)
        for key in self.cache.keys() - seen:
            self._drop(key)
        self._version = version

    async def _follow(self) -> None:
        stream = self._client.watch(
            self.resource,
            self._namespace,
            resource_version=self._version,
            seconds=int(jitter(WATCH_SECONDS, 1.0)),
            **self._selection,
        )
        async with aclosing(stream):
            async for event in stream:
                self._take(event)

    def _take(self, event: WatchEvent) -> None:
        if event.type == "DELETED":
            self._drop(key_of(event.object), event.object)
        elif event.type != "BOOKMARK":
            self._put(event.object)
        self._moved |= event.type != "BOOKMARK"
        self._version = event.resource_version

    def _put(self, obj: Object) -> None:
        key = key_of(obj)
        old = self.cache.get(key)
        if old and _same(old, obj, "resourceVersion"):
            return
        obj = self._transformed(obj)
        self.cache.put(key, obj)
        if old and not _same(old, obj, "uid"):
            self._tell_each(old, None)
            old = None
        self._tell_each(old, obj)

    def _drop(self, key: Key, last: Object | None = None) -> None:
        """`last` is the object's final state, where the server told it."""
        old = self.cache.drop(key)
        if old is not None:
            self._tell_each(self._transformed(last) if last else old, None)

    def _transformed(self, obj: Object) -> Object:
        try:
            return shared(self._transform(obj))
        except Exception:
            log.exception("%s: transform failed for %s", self.resource.qualified, key_of(obj))
            return obj

    def _tell_all(self) -> None:
        for obj in self.cache.list():
            self._tell_each(obj, obj)
        self._timer = self._clock.call_later(self._resync, self._tell_all)

    def _tell_each(self, old: Object | None, new: Object | None) -> None:
        for handler in self._handlers:
            self._tell(handler, old, new)

    def _tell(self, handler: Handler, old: Object | None, new: Object | None) -> None:
        try:
            handler(old, new)
        except Exception:
            log.exception("%s: a handler failed for %s", self.resource.qualified, key_of(new or old or {}))


def _same(one: Object, other: Object, field: str) -> bool:
    return bool(one["metadata"].get(field) == other["metadata"].get(field))
