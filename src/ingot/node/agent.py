"""The node's agent: everything of one node put together, started and stopped. Guests outlive it."""

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path

from ingot.api.kubevirt.usage import DEFAULT_USAGE
from ingot.disks.access import Claims
from ingot.host.files import make_passable
from ingot.kube.client import Client
from ingot.kube.events import Recorder
from ingot.kube.manager import Manager
from ingot.node.accelerator import choose
from ingot.node.attempts import Attempts
from ingot.node.capture import Captures
from ingot.node.chain import Chains, Site
from ingot.node.consoles import Consoles
from ingot.node.domain.document import Host
from ingot.node.ending import Endings
from ingot.node.growth import Growth
from ingot.node.hypervisor import Hypervisor
from ingot.node.instances import Instances
from ingot.node.libvirtd import GivenLibvirt, Libvirtd
from ingot.node.link import Source
from ingot.node.offer import Offer
from ingot.node.pools import Pools
from ingot.node.record import Records
from ingot.node.residents import Residents
from ingot.node.saving import Savers
from ingot.node.saving_disks import Disks
from ingot.node.saving_source import Sources
from ingot.node.secrets import Secrets
from ingot.node.server import AgentServer
from ingot.node.starting import Starter
from ingot.node.strays import Strays
from ingot.node.telling import Teller

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Options:
    """How an agent runs.

    `directory` is the agent's own, `kubelet` the kubelet's root, `socket` where it is asked about its guests.
    `locations` are directories by usage type, to which the default one is added. `accelerator` is kvm or tcg, and
    chosen by evidence when it is None; `libvirt` is a connection URI, and None to start a private one. `user` is whom
    QEMU runs as, and None for ourselves.
    """

    node: str
    directory: Path
    kubelet: Path
    socket: Path
    locations: dict[str, Path]
    accelerator: str | None = None
    libvirt: str | None = None
    user: str | None = None


class Agent:
    """The agent of one node. Only one may run in a directory."""

    def __init__(self, client: Client, options: Options) -> None:
        self._client = client
        self._options = options

    async def run(self, stop: asyncio.Event) -> None:
        """Works until `stop` is set. Raises HypervisorError when there is no libvirt to be had."""
        options = self._options
        locations = self._locations()
        accelerator = await choose(options.directory, options.accelerator)
        log.info("guests run on %s: %s", accelerator.name, accelerator.evidence)
        hypervisor = Hypervisor(self._libvirt(kvm=accelerator.name == "kvm"))
        manager = Manager(self._client)
        site = Site(options.node, options.kubelet, locations, options.user)
        pools = Pools(hypervisor)
        records = Records(options.directory / "machines")
        claims = Claims(self._client, options.node)
        chains = Chains(self._client, site, claims, Secrets(hypervisor), pools)
        recorder = Recorder(self._client, "ingot-agent", host=options.node)
        consoles = Consoles()
        teller = Teller(self._client, recorder)
        endings = Endings(hypervisor, chains, records, consoles, site)
        starter = Starter(hypervisor, chains, Host(accelerator.name, accelerator.cpu_model))
        attempts = Attempts(starter, chains, endings, teller)
        instances = Instances(manager, options.node, hypervisor, records, chains, attempts, endings, teller, consoles)
        Growth(manager, instances.instances, records, hypervisor, recorder)
        Offer(manager, options.node, locations, f"unix://{options.socket}")
        manager.serve(recorder.run)
        captures = Captures(hypervisor, records, options.user)
        sources = Sources(self._client, site, claims, options.directory / "savers")
        disks = Disks(self._client, options.kubelet, records, captures, sources)
        savers = Savers(manager, options.node, disks)
        manager.serve(lambda: self._collect(instances, savers, records, claims))
        manager.serve(Strays(hypervisor, records, teller, instances).run)
        server = AgentServer(Residents(instances.instances, records, hypervisor, consoles), options.socket)
        async with hypervisor:
            for usage, path in locations.items():
                await pools.ensure(usage, path)
            await pools.keep(locations)
            await captures.sweep()
            await server.start()
            try:
                await manager.run(stop)
            finally:
                await server.stop()

    def _libvirt(self, kvm: bool) -> Source:
        """The libvirt that was given, or a private one."""
        if self._options.libvirt:
            return GivenLibvirt(self._options.libvirt)
        return Libvirtd(self._options.directory / "libvirt", self._options.user, kvm=kvm)

    def _locations(self) -> dict[str, Path]:
        """The directory of each usage type, made where it is missing."""
        options = self._options
        locations = {DEFAULT_USAGE: options.directory / "pools" / DEFAULT_USAGE, **options.locations}
        for place in locations.values():
            make_passable(place)
        return locations

    async def _collect(self, instances: Instances, savers: Savers, records: Records, claims: Claims) -> None:
        """Once: ends claims whose machines and savers are no more, which an agent that was killed could not."""
        await instances.instances.wait_synced()
        known = {*(record.uid for record in records.all()), *instances.uids(), *await savers.uids()}
        for ended in await claims.collect(frozenset(known)):
            log.warning("a claim was left behind, and is ended: %s", ended)
        await asyncio.Event().wait()
