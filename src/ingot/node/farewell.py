"""Ending everything of a node that outlives its agent: guests, their bridges and launchers, and libvirtd."""

import asyncio
import contextlib
from dataclasses import dataclass
from pathlib import Path

from ingot.disks.bridge import Bridges
from ingot.kube.cache import Key
from ingot.node import launcher
from ingot.node.accelerator import choose
from ingot.node.emulators import emulators, end_emulator
from ingot.node.hypervisor import Hypervisor
from ingot.node.libvirtd import Libvirtd
from ingot.node.link import HypervisorError
from ingot.node.record import Records

ASK_AGAIN_SECONDS = 3.0
LOOK_SECONDS = 0.2
KILL_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Farewell:
    """Guests that did not shut down in time and were ended, and those that could not be."""

    forced: list[Key]
    left: list[Key]


async def end_guests(directory: Path, kubelet: Path, user: str | None, seconds: float) -> Farewell:
    """Shuts every guest down, and ends those that have not within `seconds`.

    Then nothing of the node runs any more. Its records stay, so that the next agent clears up. No agent may run in
    the directory. Raises HypervisorError.
    """
    records = Records(directory / "machines").all()
    libvirtd = Libvirtd(directory / "libvirt", user, kvm=(await choose(directory)).name == "kvm")
    if any(record.uid in emulators() for record in records):
        async with Hypervisor(libvirtd) as hypervisor:
            await _shut_down(hypervisor, {record.domain for record in records}, seconds)
    await libvirtd.end()
    ended = Farewell([], [])
    for record in records:
        # Whether or not libvirt knew it.
        if process := end_emulator(record.uid):
            (ended.forced if await process.ended(KILL_SECONDS) else ended.left).append(record.key)
        await Bridges(record.directory, user).end()
        launcher.let_go(kubelet, record.pod_uid)
    return ended


async def _shut_down(hypervisor: Hypervisor, domains: set[str], seconds: float) -> None:
    """Asks the guests to power off, and waits for that at most `seconds`."""
    loop = asyncio.get_running_loop()
    deadline, ask = loop.time() + seconds, 0.0
    while True:
        domains = domains & (await hypervisor.domains()).keys()
        if not domains or loop.time() >= deadline:
            return
        if loop.time() >= ask:
            ask = loop.time() + ASK_AGAIN_SECONDS
            for domain in domains:
                # One that does not answer, or has ended meanwhile, is dealt with at the end.
                with contextlib.suppress(HypervisorError, TimeoutError):
                    await asyncio.wait_for(hypervisor.shutdown(domain), ASK_AGAIN_SECONDS)
        await asyncio.sleep(LOOK_SECONDS)
