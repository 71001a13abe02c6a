"""A connection to libvirt that is kept open: its calls run in threads, its loss is noticed and mended."""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Protocol, TypeVar

from ingot.node import binding
from ingot.node.binding import Connection
from ingot.node.events import Kind, Told, register

T = TypeVar("T")
log = logging.getLogger(__name__)

# Calls that may be under way at once: one fewer than libvirtd takes from a client before it stops reading from it,
# keepalives and all.
CALLS_AT_ONCE = 4
# A peer that has not answered for this many seconds, asked this often, is taken for dead.
KEEPALIVE_SECONDS = 5
KEEPALIVE_COUNT = 3
# How long a call waits for a lost connection, and the longest pause between two tries to mend it.
PATIENCE = 15.0
LONGEST_PAUSE = 5.0


class Source(Protocol):
    """Where libvirt is: `Libvirtd` or `GivenLibvirt`."""

    async def ensure(self) -> str:
        """The URI of a libvirt that runs. Raises HypervisorError."""

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
        self._connection: Connection | None = None
        self._there = asyncio.Event()
        self._mending: asyncio.Task[None] | None = None
        self._closed = False

    async def open(self) -> None:
        """Connects, after starting libvirt if need be. Raises HypervisorError."""
        loop = asyncio.get_running_loop()
        uri = await self._source.ensure()
        try:
            connection = await loop.run_in_executor(self._threads, partial(self._connect, uri, loop))
        except ImportError as error:
            raise HypervisorError(0, f"{error}; install it with: pip install 'ingot[node]'") from error
        except Exception as error:
            code = binding.error_code(error)
            if code is None:
                raise
            raise HypervisorError(code, f"{uri}: {error}", lost=True) from error
        self._connection = connection
        self._there.set()

    async def close(self) -> None:
        """Closes the connection. Domains, and libvirt itself, run on."""
        self._closed = True
        if self._mending is not None:
            self._mending.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._mending
        connection, self._connection = self._connection, None
        if connection is not None:
            await asyncio.get_running_loop().run_in_executor(self._threads, _hang_up, connection)
        self._threads.shutdown(wait=False)

    async def call(self, domain: str, work: Callable[[Connection], T]) -> T:
        """What `work` returns, which runs in a thread and may block. `domain` is named in the HypervisorError."""
        connection = await self._living(domain)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work, connection)
        except Exception as error:
            code = binding.error_code(error)
            if code is None:
                raise
            lost = not connection.isAlive()
            raise HypervisorError(code, str(error), domain, missing=_is_missing(code), lost=lost) from error

    async def _living(self, domain: str) -> Connection:
        """The connection; waits for one that is lost to be mended."""
        if self._connection is not None and not self._connection.isAlive():
            self._lost(self._connection)
        try:
            await asyncio.wait_for(self._there.wait(), PATIENCE)
        except TimeoutError:
            raise HypervisorError(0, f"libvirt has not answered for {PATIENCE:g} s", domain, lost=True) from None
        if self._connection is None:
            raise HypervisorError(0, "the connection to libvirt is closed", domain, lost=True)
        return self._connection

    def _connect(self, uri: str, loop: asyncio.AbstractEventLoop) -> Connection:
        """In a thread: a connection whose events come to `loop`."""
        _turn_events()
        connection = binding.connect(uri)

        def told(name: str, kind: Kind, detail: str) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended before the connection did
                loop.call_soon_threadsafe(self._told, name, kind, detail)

        def broken(_connection: Connection, _reason: int, _opaque: object) -> None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._lost, connection)

        connection.registerCloseCallback(broken, None)
        connection.setKeepAlive(KEEPALIVE_SECONDS, KEEPALIVE_COUNT)
        register(connection, told)
        return connection

    def _lost(self, connection: Connection) -> None:
        if self._closed or connection is not self._connection:
            return
        self._connection = None
        self._there.clear()
        log.warning("the connection to libvirt is lost")
        self._told("", Kind.CONNECTION, "lost")
        self._mending = asyncio.get_running_loop().create_task(self._mend(connection))

    async def _mend(self, dead: Connection) -> None:
        """Tries until there is a connection again."""
        await asyncio.get_running_loop().run_in_executor(self._threads, _hang_up, dead)
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


def _is_missing(code: int) -> bool:
    names = ("NO_DOMAIN", "NO_STORAGE_POOL", "NO_SECRET")
    return code in {binding.constant(f"VIR_ERR_{name}") for name in names}


def _hang_up(connection: Connection) -> None:
    with contextlib.suppress(Exception):
        connection.unregisterCloseCallback()
    with contextlib.suppress(Exception):
        connection.close()


@cache
def _turn_events() -> None:
    """Starts the thread that serves libvirt's event loop, of which a process has one for all connections."""
    library = binding.library()
    library.virEventRegisterDefaultImpl()

    def turn() -> None:
        while True:
            try:
                library.virEventRunDefaultImpl()
            except library.libvirtError:
                log.exception("libvirt's event loop")
                time.sleep(1)

    threading.Thread(target=turn, name="libvirt-events", daemon=True).start()
