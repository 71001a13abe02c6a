"""Domains of this agent that it has no record of: their instances are gone, and so they have to end."""

import asyncio
import contextlib
import logging

from ingot.api.status import ApiError
from ingot.kube.cache import Key
from ingot.kube.transport import ConnectionFailed
from ingot.node.domain.document import Origin, origin
from ingot.node.events import Kind
from ingot.node.hypervisor import Hypervisor
from ingot.node.instances import Instances
from ingot.node.link import HypervisorError
from ingot.node.record import Records
from ingot.node.telling import Teller

log = logging.getLogger(__name__)

SWEEP_SECONDS = 60.0


class Strays:
    """Looks for strays at the start, whenever libvirt was away, and once a minute.

    An agent that is killed may have asked libvirt for a start that is done only after the next agent has cleared the
    instance away. A domain is this agent's when it has its sockets in the agent's directory, whatever else a libvirt
    has that others use too.
    """

    def __init__(self, hypervisor: Hypervisor, records: Records, teller: Teller, instances: Instances) -> None:
        self._hypervisor = hypervisor
        self._records = records
        self._teller = teller
        self._instances = instances
        self._now = asyncio.Event()
        hypervisor.subscribe(self._hear)

    def _hear(self, _domain: str, kind: Kind, detail: str) -> None:
        if kind is Kind.CONNECTION and detail == "restored":
            self._now.set()

    async def run(self) -> None:
        """Looks until it is cancelled."""
        await self._instances.instances.wait_synced()
        while True:
            self._now.clear()
            try:
                await self.sweep()
            except (HypervisorError, ApiError, ConnectionFailed) as error:
                log.warning("strays are looked for again in %g s: %s", SWEEP_SECONDS, error)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._now.wait(), SWEEP_SECONDS)

    async def sweep(self) -> None:
        """Gives every stray a record, by which it is ended as any instance whose object is gone."""
        guests = {record.domain for record in self._records.all() if record.started}
        for domain, xml in (await self._hypervisor.unlike(guests)).items():
            if (found := origin(xml)) and await self._is_stray(domain, found):
                record = self._records.adopt(domain, found)
                log.warning("%s: libvirt has its domain %s, which nobody knows of", record.key, domain)
                self._instances.look_at(record.key)

    async def _is_stray(self, domain: str, found: Origin) -> bool:
        if not self._records.lacks(found) or found.uid in self._instances.uids():
            return False
        # What has no record yet, though its instance is there, is the business of that instance.
        if await self._teller.found(Key(found.namespace, found.name), found.uid):
            return False
        return not await self._hypervisor.gone(domain, found.uid) and self._records.lacks(found)
