"""The process that listens: it keeps as many workers as it should, and knows the exports."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ingot.images.fault import ImageFault
from ingot.serve.afar import AfarOptions
from ingot.serve.entry import Entry
from ingot.serve.ledger import Ledger
from ingot.serve.link import Link, WorkerLost
from ingot.serve.listening import Listener
from ingot.serve.reception import Reception
from ingot.serve.register import Register, Standing
from ingot.serve.security import Security
from ingot.serve.totals import Totals

_log = logging.getLogger(__name__)

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
        return {"afar": self.afar.record(), "processes": self.processes, "security": security, "level": level}


class Supervisor:
    """Runs in one event loop, and does no work of clients itself."""

    def __init__(self, listeners: Sequence[Listener], terms: Terms) -> None:
        self._terms = terms
        self._links: list[Link] = []
        self._reception = Reception(listeners, self._links, terms.connections)
        self._ledger = Ledger(self._links)
        self._register = Register(self._links, self._ledger, terms.grace)
        self._started = asyncio.Event()
        self._ending = False
        self._appointing: asyncio.Task[None] | None = None

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
        """Serves the first entries; False when it is to stop before that. Raises ImageFault and WorkerLost."""
        beginning = asyncio.create_task(self._register.begin(entries))
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait((beginning, stopping), return_when=asyncio.FIRST_COMPLETED)
            if beginning.done():
                beginning.result()
            return beginning.done()
        finally:
            beginning.cancel()
            stopping.cancel()

    async def add(self, entry: Entry) -> None:
        """Serves one more. Raises ImageFault."""
        await self._started.wait()
        await self._register.add(entry)

    async def remove(self, name: str) -> None:
        """Serves it no more; its clients are sent away. Raises ImageFault when there is none of that name."""
        await self._register.remove(name)

    async def standing(self) -> list[Standing]:
        """All exports, in the order in which they came."""
        return self._register.standing(await self.totals())

    async def totals(self) -> Totals:
        """What all workers did for the exports that there are, those that have ended included."""
        return await self._ledger.sum()

    @property
    def workers(self) -> list[int]:
        """The numbers of the processes that serve."""
        return [link.number for link in self._links]

    async def _start(self) -> Link:
        """A new worker, which knows all exports. Raises ImageFault and WorkerLost."""
        link = await Link.start(self._terms.record())
        try:
            await self._register.introduce(link)
        except (ImageFault, WorkerLost):
            await link.kill()
            raise
        self._appoint()
        return link

    def _appoint(self) -> None:
        """Has the first worker lead, whether it does already or not."""
        if self._appointing is not None:
            self._appointing.cancel()
        self._appointing = asyncio.create_task(self._have_lead(self._links[0])) if self._links else None

    async def _have_lead(self, link: Link) -> None:
        """Tells a worker until it hears; one that has ended is followed by the next."""
        while not link.ended.is_set():
            try:
                link.lead()
            except WorkerLost as lost:
                _log.debug("it cannot be told to lead: %s", lost)
                await asyncio.sleep(_PAUSES[0])
            else:
                return

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
        self._appoint()
        self._ledger.close(link)
        for client, peer in link.untaken.values():
            self._reception.hand_over(client, peer)

    async def _end(self, keepers: list[asyncio.Task[None]]) -> None:
        self._ending = True
        self._reception.close()
        await self._register.close()
        tasks = [*keepers, *([self._appointing] if self._appointing else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(link.stop(self._terms.grace) for link in self._links))
