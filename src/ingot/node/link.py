"""A connection to libvirt that is kept open: its calls run in threads, its loss is noticed and mended."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from ingot.node import binding
from ingot.node.binding import Connection
from ingot.node.events import Kind, Told
from ingot.node.session import Session

T = TypeVar("T")
log = logging.getLogger(__name__)

# Calls that may be under way at once: one fewer than libvirtd takes from a client before it stops reading from it,
# keepalives and all.
CALLS_AT_ONCE = 4
# How long a call waits for a lost connection, and the longest pause between two tries to mend it.
PATIENCE = 15.0
LONGEST_PAUSE = 5.0


class Source(Protocol):
    """Where libvirt is: `Libvirtd` or `GivenLibvirt`."""

    async def ensure(self) -> str:
        """The URI of a libvirt that runs. Raises HypervisorError."""

    async def renew(self) -> bool:
        """Ends it if it is our own, for `ensure` to start it again; whether it is. Guests run on."""

    @property
    def logs(self) -> Path | None:
        """Where it keeps one log for each domain; None when that cannot be seen from here."""


class HypervisorError(Exception):
    """A call that libvirt refused or could not do: its error `code`, its `message`, and the `domain` it was about.

    `missing` tells that there is no such domain, pool or secret; `lost` that libvirt did not answer, so that nobody
    knows whether the call was done.
    """

    def __init__(self, code: int, message: str, domain: str = "", *, missing: bool = False, lost: bool = False) -> None:
        super().__init__(f"{domain}: {message}" if domain else message)
        self.code = code
        self.message = message
        self.domain = domain
        self.missing = missing
        self.lost = lost


@contextlib.contextmanager
def absent() -> Iterator[None]:
    """For calls that take something away: that there is no such thing is what was wanted."""
    try:
        yield
    except HypervisorError as error:
        if not error.missing:
            raise


class Link:
    """The connection to the libvirt of `source`, opened again whenever it breaks.

    `told` is called on the loop of `open` with every event, and with Kind.CONNECTION "lost" and "restored".
    """

    def __init__(self, source: Source, told: Told) -> None:
        self._source = source
        self._told = told
        self._threads = ThreadPoolExecutor(CALLS_AT_ONCE, thread_name_prefix="libvirt")
        self._session: Session | None = None
        self._there = asyncio.Event()
        self._mending: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connects, after starting libvirt if need be. Raises HypervisorError."""
        uri = await self._source.ensure()
        loop = asyncio.get_running_loop()
        told, broken = _on(loop, self._told), _on(loop, self._lost)
        try:
            self._session = await loop.run_in_executor(self._threads, partial(Session, uri, told, broken))
        except ImportError as error:
            raise HypervisorError(0, f"{error}; install it with: pip install 'ingot[node]'") from error
        except Exception as error:
            code = binding.error_code(error)
            if code is None:
                raise
            raise HypervisorError(code, f"{uri}: {error}", lost=True) from error
        self._there.set()

    async def close(self) -> None:
        """Closes the connection. Domains, and libvirt itself, run on."""
        if self._mending is not None:
            self._mending.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._mending
        session, self._session = self._session, None
        if session is not None:
            await asyncio.get_running_loop().run_in_executor(self._threads, session.end)
        self._threads.shutdown(wait=False)

    async def call(self, domain: str, work: Callable[[Connection], T]) -> T:
        """What `work` returns, which runs in a thread and may block. `domain` is named in the HypervisorError."""
        session = await self._living(domain)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, session.use, work)
        except ConnectionError as error:
            raise HypervisorError(0, str(error), domain, lost=True) from error
        except Exception as error:
            code = binding.error_code(error)
            if code is None:
                raise
            raise HypervisorError(
                code, str(error), domain, missing=_is_missing(code), lost=not session.alive
            ) from error

    async def _living(self, domain: str) -> Session:
        """The session; waits for one that is lost to be mended."""
        if self._session is not None and not self._session.alive:
            self._lost(self._session)
        try:
            await asyncio.wait_for(self._there.wait(), PATIENCE)
        except TimeoutError:
            raise HypervisorError(0, f"libvirt has not answered for {PATIENCE:g} s", domain, lost=True) from None
        if self._session is None:
            raise HypervisorError(0, "the connection to libvirt is closed", domain, lost=True)
        return self._session

    def _lost(self, session: Session) -> None:
        if session is not self._session:
            return
        self._session = None
        self._there.clear()
        log.warning("the connection to libvirt is lost")
        self._told("", Kind.CONNECTION, "lost")
        self._mending = asyncio.get_running_loop().create_task(self._mend(session))

    async def _mend(self, dead: Session) -> None:
        """Tries until there is a connection again."""
        await asyncio.get_running_loop().run_in_executor(self._threads, dead.end)
        pause = 0.1
        while True:
            try:
                await self.open()
                break
            except HypervisorError as error:
                log.warning("libvirt cannot be reached, tried again in %.1f s: %s", pause, error)
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
        log.info("the connection to libvirt is restored")
        self._told("", Kind.CONNECTION, "restored")


def _on(loop: asyncio.AbstractEventLoop, heard: Callable[..., None]) -> Callable[..., None]:
    """Calls `heard` on the loop, from any thread. A loop that has ended hears nothing."""

    def tell(*arguments: object) -> None:
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(heard, *arguments)

    return tell


def _is_missing(code: int) -> bool:
    names = ("NO_DOMAIN", "NO_STORAGE_POOL", "NO_SECRET")
    return code in {binding.constant(f"VIR_ERR_{name}") for name in names}
