"""Ending a guest: asked to shut down, given its time, ended, and cleared away."""

import logging

from ingot.api.object import Object
from ingot.kube.clock import SYSTEM, Clock
from ingot.node import launcher
from ingot.node.chain import Chains, Site
from ingot.node.consoles import Consoles
from ingot.node.domain.document import domain_uuid
from ingot.node.emulators import emulators
from ingot.node.events import DomainState, Phase
from ingot.node.hypervisor import Hypervisor
from ingot.node.link import HypervisorError
from ingot.node.record import Record, Records

log = logging.getLogger(__name__)

DEFAULT_GRACE_SECONDS = 30
# A guest that is still booting does not hear the first press of the button.
ASK_AGAIN_SECONDS = 3.0
BURY_SECONDS = 5.0
# Reasons that are remembered; libvirt's log has all of them.
REMEMBERED = 1000


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

    def note(self, domain: str, reason: str) -> None:
        """libvirt says that a domain has ended, and why."""
        self._reasons.pop(domain, None)
        self._reasons[domain] = reason
        if len(self._reasons) > REMEMBERED:
            del self._reasons[next(iter(self._reasons))]

    async def reason(self, record: Record, instance: Object) -> str:
        """Why the guest of an instance has ended: shutdown, crashed, destroyed, …"""
        if told := self._reasons.get(record.domain):
            return told
        return await self._hypervisor.last_reason(record.domain, domain_uuid(instance)) or "lost"

    async def stop(self, instance: Object, record: Record) -> float | None:
        """Brings the guest to its end; in how many seconds to look again, None when its QEMU is gone for certain."""
        wait = await self._stop(instance, record)
        if wait is None:
            await self.bury(record)
        return wait

    async def bury(self, record: Record) -> None:
        """Ends a QEMU of that domain which libvirt does not know, or no longer: two must never share a disk."""
        if process := emulators().get(record.uid):
            log.warning("%s: libvirt does not know its QEMU (pid %d), which ends now", record.key, process.pid)
            await process.end(BURY_SECONDS)

    async def _stop(self, instance: Object, record: Record) -> float | None:
        state = await self._hypervisor.state(record.domain)
        if state is None:
            return None
        now = self._clock.time()
        grace = float(instance["spec"].get("terminationGracePeriodSeconds", DEFAULT_GRACE_SECONDS))
        left = grace - (now - record.stop_asked if record.stop_asked else 0.0)
        if left <= 0 or not _hears(state):
            await self._hypervisor.destroy(record.domain)
            return None
        if not record.stop_asked:
            record.stop_asked = now
            record.save()
        try:
            await self._hypervisor.shutdown(record.domain)
        except HypervisorError:
            # It may have ended in between.
            if await self._hypervisor.state(record.domain) is None:
                return None
            raise
        return min(left, ASK_AGAIN_SECONDS)

    async def clear(self, record: Record) -> None:
        """Takes away what is left of an instance whose QEMU is gone, and lets its launcher end."""
        self._consoles.leave(record.uid)
        await self._chains.clear(record)
        launcher.let_go(self._site.kubelet, record.pod_uid)
        self._reasons.pop(record.domain, None)
        self._records.remove(record)

    async def wipe(self, record: Record) -> None:
        """Ends and clears an instance whose object is gone."""
        log.warning("%s/%s (%s) is gone from the API: its guest ends now", record.namespace, record.name, record.uid)
        await self._hypervisor.destroy(record.domain)
        await self.bury(record)
        await self.clear(record)


def _hears(state: DomainState) -> bool:
    """Whether the guest can notice that it is asked to shut down."""
    return state.phase in (Phase.RUNNING, Phase.SHUTTING_DOWN)
