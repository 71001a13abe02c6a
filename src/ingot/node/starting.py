"""Starting a guest: its disks, its domain, and what can be broken off in between."""

import asyncio
import contextlib
import logging
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from ingot.api.object import Object
from ingot.host.sockets import LONGEST
from ingot.node.chain import Chains, Progress
from ingot.node.domain.document import Host, domain_xml
from ingot.node.domain.support import unsupported
from ingot.node.hypervisor import Hypervisor
from ingot.node.record import Record

log = logging.getLogger(__name__)


class Unsupported(Exception):
    """A machine that this node cannot run as its spec wants it; `fields` are those in the way, each with the cure."""

    def __init__(self, fields: list[str]) -> None:
        super().__init__("; ".join(fields))
        self.fields = fields


class Abandoned(Exception):
    """A start that was broken off because nobody wants it any more."""


@dataclass(frozen=True, slots=True)
class Started:
    volumes: list[Object]


class Starter:
    """Starts guests, each at most once at a time."""

    def __init__(self, hypervisor: Hypervisor, chains: Chains, host: Host) -> None:
        self._hypervisor = hypervisor
        self._chains = chains
        self._host = host
        self._running: dict[str, asyncio.Task[Started]] = {}

    async def start(self, instance: Object, record: Record, progress: Progress) -> Started:
        """Returns when the guest's QEMU runs. Raises DiskFault, HypervisorError, Unsupported, or Abandoned."""
        task = asyncio.create_task(self._start(instance, record, progress))
        self._running[record.uid] = task
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise Abandoned from None
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            raise
        finally:
            self._running.pop(record.uid, None)

    def abandon(self, uid: str) -> None:
        """Breaks off the start of that instance, if one is under way."""
        if task := self._running.get(uid):
            task.cancel()

    async def _start(self, instance: Object, record: Record, progress: Progress) -> Started:
        if fields := unsupported(instance["spec"]):
            raise Unsupported(fields)
        if len(str(record.console).encode()) > LONGEST:
            raise Unsupported([f"{record.console} is too long for a socket: start Ingot with a shorter --dir"])
        chain = await self._chains.make(instance, record, progress)
        xml = domain_xml(instance, self._host, chain.disks, record.console)
        paused = instance["spec"].get("startStrategy") == "Paused"
        # Once QEMU may run, nothing is broken off: the note that it does has to follow.
        await _to_its_end(self._launch(record, xml, paused))
        return Started(chain.volumes)

    async def _launch(self, record: Record, xml: str, paused: bool) -> None:
        await self._hypervisor.start(xml, paused)
        record.started = True
        record.save()


async def _to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Does the work whole, even when cancelled meanwhile, which takes effect after it."""
    task = asyncio.create_task(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        log.info("a start was broken off: %s", task.exception() or "its guest had just started")
        raise asyncio.CancelledError
    task.result()
