"""The process that listens: it keeps as many workers as it should, and knows the exports."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ingot.images.fault import ImageFault
from ingot.serve.afar import AfarOptions
from ingot.serve.entry import Entry
from ingot.serve.link import Link, WorkerLost
from ingot.serve.listening import Listener
from ingot.serve.reception import Reception
from ingot.serve.security import Security
from ingot.serve.totals import Totals

_log = logging.getLogger(__name__)

MOST_EXPORTS = 1000
# A worker that ends again and again is started after pauses from the first to the second, in seconds.
_PAUSES = (0.1, 5.0)


@dataclass(frozen=True, slots=True)
class Terms:
    """`connections`: how many clients there may be at once; `grace`: seconds to finish what is under way at the end."""

    afar: AfarOptions
    processes: int = 1
    connections: int = 1024
    grace: float = 10.0
    security: Security | None = None

    def record(self) -> dict[str, Any]:
        security = self.security.record() if self.security else None
        level = logging.getLogger().level or logging.INFO
        return {"afar": self.afar.record(), "security": security, "level": level}


@dataclass(slots=True)
class _Known:
    entry: Entry
    size: int | None = None


@dataclass(slots=True)
class Standing:
    """What is told of an export. `size` is None for a directory, and for what could not be opened yet."""

    entry: Entry
    size: int | None
    totals: Totals = field(default_factory=Totals)


class Supervisor:
    """Runs in one event loop, and does no work of clients itself."""

    def __init__(self, listeners: Sequence[Listener], terms: Terms) -> None:
        self._terms = terms
        self._links: list[Link] = []
        self._reception = Reception(listeners, self._links, terms.connections)
        self._known: dict[str, _Known] = {}
        # What workers did that have ended.
        self._past = Totals()
        # Exports and workers change one after the other, so that every worker knows every export.
        self._changing = asyncio.Lock()
        self._started = asyncio.Event()
        self._ending = False

    async def run(self, entries: Sequence[Entry], stop: asyncio.Event, ready: Callable[[], None]) -> None:
        """Serves until `stop`. Raises ImageFault for an entry that cannot be served, WorkerLost when no worker can be
        started at all."""
        keepers: list[asyncio.Task[None]] = []
        try:
            for _ in range(self._terms.processes):
                keepers.append(asyncio.create_task(self._keep(await self._start())))
            self._started.set()
            if await self._begin(entries, stop):
                self._reception.open()
                ready()
                await stop.wait()
        finally:
            await self._end(keepers)

    async def _begin(self, entries: Sequence[Entry], stop: asyncio.Event) -> bool:
        """Adds the first entries; False when it is to stop before they are there. Raises ImageFault."""

        async def add_all() -> None:
            for entry in entries:
                await self.add(entry)

        adding, stopping = asyncio.create_task(add_all()), asyncio.create_task(stop.wait())
        try:
            await asyncio.wait((adding, stopping), return_when=asyncio.FIRST_COMPLETED)
            if adding.done():
                adding.result()
            return adding.done()
        finally:
            adding.cancel()
            stopping.cancel()

    async def add(self, entry: Entry) -> None:
        """Serves one more. Raises ImageFault."""
        entry.check()
        await self._started.wait()
        async with self._changing:
            if entry.name in self._known:
                raise ImageFault(repr(entry.name), "Exists", "there is an export of this name already; remove it first")
            if len(self._known) == MOST_EXPORTS:
                raise ImageFault(repr(entry.name), "TooMany", f"there are {MOST_EXPORTS} exports, and may be no more")
            message = {"do": "add", "entry": entry.record(), "keep": False}
            size = None
            try:
                # One after the other: what the first one fetches the others find in the cache.
                for link in list(self._links):
                    size = (await link.ask(message, None))["size"]
            except (ImageFault, WorkerLost) as error:
                await self._everywhere({"do": "remove", "name": entry.name, "seconds": 0})
                if isinstance(error, ImageFault):
                    raise
                raise ImageFault(repr(entry.name), "WorkerLost", f"{error}; try again", retry=True) from error
            self._known[entry.name] = _Known(entry, size)

    async def remove(self, name: str) -> None:
        """Serves it no more; its clients are sent away. Raises ImageFault when there is none of that name."""
        async with self._changing:
            if name not in self._known:
                raise ImageFault(repr(name), "NotFound", "there is no export of this name")
            del self._known[name]
            await self._everywhere({"do": "remove", "name": name, "seconds": self._terms.grace})

    async def standing(self) -> list[Standing]:
        """All exports, in the order in which they came."""
        totals = await self.totals()
        found = []
        for known in list(self._known.values()):
            mine = Totals()
            mine.exports = {name: total for name, total in totals.exports.items() if self._owner(name) is known}
            found.append(Standing(known.entry, known.size, mine))
        return found

    async def totals(self) -> Totals:
        """What all workers did, those that have ended included."""
        await asyncio.gather(*(link.report() for link in self._links))
        summed = self._past.copy()
        for link in self._links:
            summed.merge(link.totals)
        return summed

    @property
    def workers(self) -> list[int]:
        """The numbers of the processes that serve."""
        return [link.number for link in self._links]

    def _owner(self, name: str) -> _Known | None:
        """Which entry an export belongs to: it is itself one, or a file in a directory."""
        return self._known.get(name) or self._known.get(name.rpartition("/")[0])

    async def _everywhere(self, message: dict[str, Any]) -> None:
        for link in list(self._links):
            with contextlib.suppress(ImageFault, WorkerLost):
                await link.ask(message, self._terms.grace + 5)

    async def _start(self) -> Link:
        """A new worker, which knows all exports. Raises WorkerLost."""
        link = await Link.start(self._terms.record())
        async with self._changing:
            try:
                for known in self._known.values():
                    await link.ask({"do": "add", "entry": known.entry.record(), "keep": True})
            except (ImageFault, WorkerLost):
                await link.kill()
                raise
            self._links.append(link)
        return link

    async def _keep(self, link: Link | None) -> None:
        """Has a worker all the time, from this one on."""
        pause = _PAUSES[0]
        while True:
            if link is not None:
                began = asyncio.get_running_loop().time()
                await link.watch()
                self._lost(link)
                if asyncio.get_running_loop().time() - began > _PAUSES[1]:
                    pause = _PAUSES[0]
            await asyncio.sleep(pause)
            pause = min(2 * pause, _PAUSES[1])
            try:
                link = await self._start()
            except (OSError, ImageFault, WorkerLost) as error:
                _log.error("a worker cannot be started: %s; it is tried again", error)
                link = None
            else:
                _log.info("worker %d is there", link.number)
                self._reception.open()

    def _lost(self, link: Link) -> None:
        if self._ending:
            return
        _log.error("worker %d has ended; its %d clients must connect again", link.number, link.clients)
        self._links.remove(link)
        for total in link.totals.exports.values():
            total.present = 0
        self._past.merge(link.totals)
        for client, peer in link.untaken.values():
            self._reception.hand_over(client, peer)

    async def _end(self, keepers: list[asyncio.Task[None]]) -> None:
        self._ending = True
        self._reception.close()
        for keeper in keepers:
            keeper.cancel()
        await asyncio.gather(*keepers, return_exceptions=True)
        await asyncio.gather(*(link.stop(self._terms.grace) for link in self._links))
