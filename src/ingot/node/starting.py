"""Starting a guest: its disks, its domain, and what can be broken off in between."""

import asyncio
import contextlib
import logging
from dataclasses import dataclass

from ingot.api.object import Object
from ingot.host.descriptor import Descriptor
from ingot.host.sockets import LONGEST
from ingot.node.chain import Chains, Progress
from ingot.node.domain.document import Host, domain_xml
from ingot.node.domain.support import unsupported
from ingot.node.emulators import end_emulator
from ingot.node.hypervisor import Hypervisor
from ingot.node.record import Record

log = logging.getLogger(__name__)

# A QEMU whose disks answer starts in a second.
START_SECONDS = 30.0
END_SECONDS = 2.0


class Unsupported(Exception):
    """A machine that this node cannot run as its spec wants it; `fields` are those in the way, each with the cure."""

    def __init__(self, fields: list[str]) -> None:
        super().__init__("; ".join(fields))
        self.fields = fields


class StartTimeout(Exception):
    """A QEMU that did not get its disks open within `seconds`, and was ended."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"QEMU did not get its disks open in {seconds:g} s: one of their servers does not answer")
        self.seconds = seconds


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
        """Returns when the guest's QEMU runs. Raises DiskFault, HypervisorError, Unsupported,
        StartTimeout, or Abandoned."""
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
        await self._launch(record, xml, paused, chain.files)
        return Started(chain.volumes)

    async def _launch(self, record: Record, xml: str, paused: bool, files: dict[str, Descriptor]) -> None:
        """Starts the domain. Raises StartTimeout when its QEMU does not get that far in time.

        Once QEMU may run, nothing is broken off: the note that it does has to follow. But a QEMU that hangs, or that
        nobody wants any more, is ended, which ends the call.
        """
        task = asyncio.create_task(self._hypervisor.start(xml, paused, files))
        unwanted: BaseException | None = None
        deadline = START_SECONDS
        while not task.done():
            try:
                await asyncio.wait((task,), timeout=deadline)
            except asyncio.CancelledError as cancelled:
                unwanted = cancelled
            if not task.done():
                unwanted = unwanted or StartTimeout(START_SECONDS)
                end_emulator(record.uid)
                deadline = END_SECONDS
        if task.exception() is None:
            record.started = True
            record.save()
        if unwanted is not None:
            log.info("%s: its start was broken off: %s", record.key, task.exception() or "it had just started")
            raise unwanted
        task.result()
