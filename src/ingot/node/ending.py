"""Ending a guest: asked to shut down, given its time, ended, and cleared away."""

import asyncio
import contextlib
import logging
from collections.abc import Coroutine
from typing import Any

from ingot.api.object import Object
from ingot.kube.cache import Key
from ingot.kube.clock import SYSTEM, Clock
from ingot.node import launcher
from ingot.node.chain import Chains, Site
from ingot.node.consoles import Consoles
from ingot.node.domain.document import domain_uuid
from ingot.node.emulators import end_emulator
from ingot.node.events import DomainState, Phase
from ingot.node.hypervisor import Hypervisor
from ingot.node.link import HypervisorError
from ingot.node.record import Record, Records

log = logging.getLogger(__name__)

DEFAULT_GRACE_SECONDS = 30
# A guest that is still booting does not hear the first press of the button.
ASK_AGAIN_SECONDS = 3.0
BURY_SECONDS = 5.0
END_SECONDS = 10.0
# libvirt lets go of a domain in a moment; in half a minute where nobody reaps its QEMU. Then it never will.
KEPT_SECONDS = 60.0
LOOK_SECONDS = 0.2
# Reasons that are remembered; libvirt's log has all of them.
REMEMBERED = 1000


class Undead(Exception):
    """A QEMU that cannot be killed, as when it waits for storage that is gone: its disks stay claimed."""

    def __init__(self, key: Key, pid: int) -> None:
        super().__init__(f"{key}: its QEMU (pid {pid}) cannot be killed; its disks stay claimed until it ends")
        self.key = key
        self.pid = pid


class Endings:
    """Ends guests, and knows why those that ended by themselves did."""

    def __init__(
        self,
        hypervisor: Hypervisor,
        chains: Chains,
        records: Records,
        consoles: Consoles,
        site: Site,
        clock: Clock = SYSTEM,
    ) -> None:
        self._hypervisor = hypervisor
        self._chains = chains
        self._records = records
        self._consoles = consoles
        self._site = site
        self._clock = clock
        self._reasons: dict[str, str] = {}
        # Since when (monotonic) libvirt has kept domains whose QEMUs are gone, by the uids of their instances.
        self._kept: dict[str, float] = {}

    def note(self, domain: str, reason: str) -> None:
        """libvirt says that a domain has ended, and why."""
        self._reasons.pop(domain, None)
        self._reasons[domain] = reason
        if len(self._reasons) > REMEMBERED:
            del self._reasons[next(iter(self._reasons))]

    def forget(self, domain: str) -> None:
        """A new guest begins under that name: what is said of the one before it does not count."""
        self._reasons.pop(domain, None)

    async def reason(self, record: Record, instance: Object) -> str:
        """Why the guest of an instance has ended: shutdown, crashed, destroyed, …"""
        if told := self._reasons.get(record.domain):
            return told
        return await self._hypervisor.last_reason(record.domain, domain_uuid(instance)) or "lost"

    async def stop(self, instance: Object, record: Record) -> float | None:
        """Brings the guest to its end; in how many seconds to look again, None when its QEMU is gone for certain and
        libvirt knows that."""
        if record.uid not in self._kept:
            wait = await self._stop(instance, record)
            if wait is not None:
                return wait
        return await self._over(record)

    async def _over(self, record: Record) -> float | None:
        """As `stop`, for a guest whose domain was destroyed, or was not there."""
        await self.bury(record)
        if await self._gone(record):
            self._kept.pop(record.uid, None)
            return None
        now = self._clock.monotonic()
        if now - self._kept.setdefault(record.uid, now) >= KEPT_SECONDS:
            await self._unstick(record)
        return LOOK_SECONDS

    async def _gone(self, record: Record) -> bool:
        """Whether libvirt says that it has no such domain."""
        try:
            return await asyncio.wait_for(self._hypervisor.gone(record.domain, record.uid), END_SECONDS)
        except TimeoutError:
            return False
        except HypervisorError as error:
            if error.lost:
                raise
            log.warning("%s: libvirt cannot take its domain away: %s", record.key, error)
            return False

    async def _unstick(self, record: Record) -> None:
        """libvirt does not let go of a domain: one of our own is started again, of another's it is asked once more."""
        # What helps one helps all.
        self._kept.clear()
        what = f"{record.key}: its QEMU is gone, and libvirt has kept its domain {record.domain} for {KEPT_SECONDS:g} s"
        if await self._hypervisor.renew():
            log.warning("%s: libvirtd was ended, and is started again", what)
        else:
            log.warning("%s: it is asked again to end it", what)

    async def bury(self, record: Record) -> None:
        """Ends a QEMU of that instance which libvirt does not know, or cannot end: two must never share a disk.

        Raises Undead when even the kernel cannot.
        """
        if process := end_emulator(record.uid):
            log.warning("%s: libvirt did not end its QEMU (pid %d), which ends now", record.key, process.pid)
            if not await process.ended(BURY_SECONDS):
                raise Undead(record.key, process.pid)

    async def _stop(self, instance: Object, record: Record) -> float | None:
        state = await self._hypervisor.state(record.domain, record.uid)
        if state is None:
            return None
        grace = float(instance["spec"].get("terminationGracePeriodSeconds", DEFAULT_GRACE_SECONDS))
        left = grace - self._asked_since(record) if record.stop_asked else grace
        if left <= 0 or not _hears(state):
            await self._destroy(record)
            return None
        if not record.stop_asked:
            record.stop_asked = self._clock.time()
            record.save()
        # A QEMU that does not answer holds the call for as long as it likes; its time runs all the same.
        await self._within(ASK_AGAIN_SECONDS, self._ask(record))
        return min(left, ASK_AGAIN_SECONDS)

    def _asked_since(self, record: Record) -> float:
        """Seconds since the guest was asked to shut down; none where the clock was set back meanwhile."""
        return max(0.0, self._clock.time() - record.stop_asked)

    async def _ask(self, record: Record) -> None:
        try:
            await self._hypervisor.shutdown(record.domain)
        except HypervisorError:
            # It may have ended in between.
            if await self._hypervisor.state(record.domain, record.uid) is not None:
                raise

    async def _destroy(self, record: Record) -> None:
        """Has libvirt end the guest. Where it does not, its QEMU is ended without it."""
        try:
            await self._within(END_SECONDS, self._hypervisor.destroy(record.domain, record.uid))
        except HypervisorError as error:
            if error.lost:
                raise
            log.warning("%s: libvirt cannot end its domain: %s", record.key, error)

    async def _within(self, seconds: float, work: Coroutine[Any, Any, None]) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(work, seconds)

    async def clear(self, record: Record) -> None:
        """Takes away what is left of an instance whose QEMU and domain are gone, and lets its launcher end."""
        self._consoles.leave(record.uid)
        await self._chains.clear(record)
        launcher.let_go(self._site.kubelet, record.pod_uid)
        self._reasons.pop(record.domain, None)
        self._records.remove(record)

    async def wipe(self, record: Record) -> float | None:
        """Ends and clears an instance whose object is gone; in how many seconds to look again, None when it is done."""
        if record.uid not in self._kept:
            log.warning("%s (%s) is gone from the API: its guest ends now", record.key, record.uid)
            await self._destroy(record)
        wait = await self._over(record)
        if wait is None:
            await self.clear(record)
        return wait


def _hears(state: DomainState) -> bool:
    """Whether the guest can notice that it is asked to shut down."""
    return state.phase in (Phase.RUNNING, Phase.SHUTTING_DOWN)
