"""The exports that a server knows, and that each of its workers is told of."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ingot.images.fault import ImageFault
from ingot.serve.entry import Entry
from ingot.serve.ledger import Ledger
from ingot.serve.link import Link, WorkerLost
from ingot.serve.totals import Totals

_log = logging.getLogger(__name__)

MOST_EXPORTS = 1000
# An image that was not made for it is fetched whole when it is opened for the first time.
_OPEN_SECONDS = 3600.0
# At the start, what takes longer to open does not keep the others; what fails later is tried again after a pause, where
# that may be of use.
_START_SECONDS = 3.0
_PAUSE_SECONDS = 30.0
# What takes a worker no time, over what it was given.
_TELL_SECONDS = 5.0

PREPARING, READY, FAILED = "preparing", "ready", "failed"


@dataclass(slots=True)
class _Known:
    """`size` is None for a directory, and for what is not open yet. `gone` is set when it is removed."""

    entry: Entry
    folder: bool = False
    size: int | None = None
    state: str = PREPARING
    gone: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(slots=True)
class Standing:
    """What is told of an export: what it is, PREPARING, READY or FAILED, and what was done for its clients."""

    entry: Entry
    size: int | None
    state: str
    totals: Totals = field(default_factory=Totals)


class Register:
    """`links` are the workers that there are, kept by somebody else; `ledger`: what they did, of which that for removed
    exports is forgotten; `grace`: how many seconds the clients of a removed export have. Runs in one event loop."""

    def __init__(self, links: list[Link], ledger: Ledger, grace: float) -> None:
        self._links = links
        self._ledger = ledger
        self._grace = grace
        self._known: dict[str, _Known] = {}
        # Exports and workers change one after the other, so that every worker knows every export. Opening them may
        # take long, and is done outside of it.
        self._changing = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    async def begin(self, entries: Sequence[Entry]) -> None:
        """Knows them, and returns when they are open, or take their time. Raises ImageFault and WorkerLost."""
        opening = [asyncio.create_task(self._open(known)) for known in [await self._list(entry) for entry in entries]]
        self._tasks.update(opening)
        if opening:
            await asyncio.wait(opening, timeout=_START_SECONDS, return_when=asyncio.FIRST_EXCEPTION)
        for task, entry in zip(opening, entries, strict=True):
            if task.done():
                task.result()
            else:
                _log.info("export %r is prepared; the others are served", entry.name)
                self._tasks.add(asyncio.create_task(self._insist(self._known[entry.name], task)))

    async def add(self, entry: Entry) -> None:
        """Serves one more, and returns when it is open. Raises ImageFault."""
        try:
            known = await self._list(entry)
            try:
                await self._open(known)
            except BaseException:
                await self._drop(known)
                raise
        except WorkerLost as error:
            raise ImageFault(repr(entry.name), "WorkerLost", f"{error}; try again", retry=True) from error

    async def remove(self, name: str) -> None:
        """Serves it no more, also if it is not open yet; its clients are sent away. Raises ImageFault when there is
        none of that name."""
        async with self._changing:
            if name not in self._known:
                raise ImageFault(repr(name), "NotFound", "there is no export of this name")
            self._known.pop(name).gone.set()
            await self._unlist(name)
        await self._dismiss(name, self._grace)

    async def introduce(self, link: Link) -> None:
        """Tells a new worker of all exports, and has it among the others. Raises ImageFault and WorkerLost."""
        async with self._changing:
            for known in self._known.values():
                await link.ask({"do": "add", "entry": known.entry.record(), "pin": known.state != FAILED})
            self._links.append(link)

    def standing(self, totals: Totals) -> list[Standing]:
        """All exports, in the order in which they came. `totals`: what was done for clients."""
        found = []
        for known in self._known.values():
            mine = Totals()
            mine.exports = {name: total for name, total in totals.exports.items() if self._owner(name) is known}
            found.append(Standing(known.entry, known.size, known.state, mine))
        return found

    async def close(self) -> None:
        """Nothing is opened any more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _list(self, entry: Entry) -> _Known:
        """Tells the workers of one more."""
        entry.check()
        async with self._changing:
            if entry.name in self._known:
                raise ImageFault(repr(entry.name), "Exists", "there is an export of this name already; remove it first")
            if len(self._known) == MOST_EXPORTS:
                raise ImageFault(repr(entry.name), "TooMany", f"there are {MOST_EXPORTS} exports, and may be no more")
            known = _Known(entry)
            message = {"do": "add", "entry": entry.record(), "pin": False}
            try:
                for link in list(self._links):
                    known.folder = (await link.ask(message))["folder"]
            except (ImageFault, WorkerLost):
                await self._unlist(entry.name)
                raise
            self._known[entry.name] = known
            return known

    async def _open(self, known: _Known) -> None:
        """Has the workers open it. Raises ImageFault, also when it is removed meanwhile, and WorkerLost."""
        opening = asyncio.create_task(self._open_everywhere(known))
        gone = asyncio.create_task(known.gone.wait())
        try:
            await asyncio.wait((opening, gone), return_when=asyncio.FIRST_COMPLETED)
            if not opening.done():
                raise ImageFault(repr(known.entry.name), "Removed", "it was removed before it could be served")
            known.size = opening.result()
            known.state = READY
        finally:
            opening.cancel()
            gone.cancel()

    async def _open_everywhere(self, known: _Known) -> int | None:
        size = None
        if not known.folder:
            # One after the other: the tables, or the layer, that the first one fetches the others find in the cache.
            for link in list(self._links):
                size = (await link.ask({"do": "open", "name": known.entry.name}, _OPEN_SECONDS))["size"]
        return size

    async def _insist(self, known: _Known, opening: asyncio.Task[None]) -> None:
        """Waits until it is open, and tries again where it cannot be; not after a final fault, since an image may be
        fetched whole for each try."""
        while True:
            try:
                await opening
            except (ImageFault, WorkerLost) as error:
                if known.gone.is_set():
                    return
                known.state = FAILED
                final = isinstance(error, ImageFault) and error.final
                what = "it is not tried again before it is removed and added" if final else "it is tried again"
                _log.error("export %r cannot be served: %s; %s", known.entry.name, error, what)
                if final:
                    return
            else:
                _log.info("export %r is served", known.entry.name)
                return
            await asyncio.sleep(_PAUSE_SECONDS)
            opening = asyncio.create_task(self._open(known))

    async def _drop(self, known: _Known) -> None:
        """Forgets one that could not be opened."""
        async with self._changing:
            if self._known.get(known.entry.name) is known:
                del self._known[known.entry.name]
                await self._unlist(known.entry.name)
        await self._dismiss(known.entry.name, 0)

    async def _unlist(self, name: str) -> None:
        """No worker gives it to clients any more, nor tells what it did for them."""
        await self._tell({"do": "remove", "name": name})
        # With a directory that has no name, what is told of others could be of a file in it.
        self._ledger.keep(lambda told: told != name and self._owner(told) is not None)

    async def _dismiss(self, name: str, seconds: float) -> None:
        """Has the clients sent away who still use what was removed under that name. That may take so long, and others
        do not wait for it."""
        await self._tell({"do": "dismiss", "name": name, "seconds": seconds}, seconds)

    async def _tell(self, message: dict[str, Any], seconds: float = 0.0) -> None:
        async def tell(link: Link) -> None:
            try:
                await link.ask(message, seconds + _TELL_SECONDS)
            except WorkerLost as lost:
                if not link.ended.is_set():
                    _log.warning("export %r: %s", message["name"], lost)
            except ImageFault:
                _log.debug("worker %d does not have export %r", link.number, message["name"])

        await asyncio.gather(*map(tell, list(self._links)))

    def _owner(self, name: str) -> _Known | None:
        """Which entry an export belongs to: it is itself one, or a file in a directory."""
        return self._known.get(name) or self._known.get(name.rpartition("/")[0])
