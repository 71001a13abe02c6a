"""Ending everything of a node that outlives its agent: guests, their bridges and launchers, and libvirtd."""

import asyncio
from pathlib import Path

from ingot.disks.bridge import Bridges
from ingot.kube.cache import Key
from ingot.node import launcher
from ingot.node.accelerator import choose
from ingot.node.hypervisor import Hypervisor
from ingot.node.libvirtd import Libvirtd
from ingot.node.record import Records

ASK_AGAIN_SECONDS = 3.0
LOOK_SECONDS = 0.2


async def end_guests(directory: Path, kubelet: Path, user: str | None, seconds: float) -> list[Key]:
    """Shuts every guest down, and ends those that have not within `seconds`; those that it was needed for.

    Then nothing of the node runs any more. Its records stay, so that the next agent clears up. No agent may run in
    the directory. Raises HypervisorError.
    """
    records = Records(directory / "machines")
    libvirtd = Libvirtd(directory / "libvirt", user, kvm=(await choose(directory)).name == "kvm")
    forced: list[Key] = []
    if any(record.started for record in records.all()):
        async with Hypervisor(libvirtd) as hypervisor:
            started = {record.domain: record.key for record in records.all() if record.started}
            left = await _shut_down(hypervisor, set(started), seconds)
            for domain in left:
                await hypervisor.destroy(domain)
            forced = sorted(started[domain] for domain in left)
    await libvirtd.end()
    for record in records.all():
        await Bridges(record.directory, user).end()
        launcher.let_go(kubelet, record.pod_uid)
    return forced


async def _shut_down(hypervisor: Hypervisor, domains: set[str], seconds: float) -> set[str]:
    """Asks the guests to power off; those that are still there after `seconds`."""
    loop = asyncio.get_running_loop()
    deadline, ask = loop.time() + seconds, 0.0
    while True:
        domains = domains & (await hypervisor.domains()).keys()
        if not domains or loop.time() >= deadline:
            return domains
        if loop.time() >= ask:
            ask = loop.time() + ASK_AGAIN_SECONDS
            for domain in domains:
                await hypervisor.shutdown(domain)
        await asyncio.sleep(LOOK_SECONDS)
