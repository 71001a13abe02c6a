"""Kill -9 while machines start and while they go: each gets one guest, and nothing is left of it."""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from guest import lab as living
from guest import manifests, parts
from guest.disks import MIB, content, data_disk
from guest.lab import Lab
from guest.parts import AGENT, LIBVIRTD, MACHINE
from guest.servers.nginx import Nginx
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import MACHINES
from ingot.host.process import Process as HostProcess
from ingot.kube.client import Client
from ingot.node.domain.document import Host, domain_name, domain_xml
from ingot.node.hypervisor import Hypervisor
from ingot_up import IngotUp
from kube.process import Process

pytestmark = pytest.mark.timeout(200)

AT_ONCE = 3
# A start takes about as long, from the apply to the running domain.
START_SECONDS, END_SECONDS = 0.8, 0.4


@dataclass
class Workshop:
    """The parts of a lab as processes of the test: one that is killed is started again at once."""

    lab: Lab
    children: dict[str, Process]
    web: Nginx

    async def kill(self, victims: list[str]) -> None:
        found = [
            parts.part(self.lab, name) if name == LIBVIRTD else HostProcess.of(self.children[name].pid)
            for name in victims
        ]
        await parts.kill(*found)
        for name in set(victims) & self.children.keys():
            self.children[name].__exit__(None, None, None)
            self.children[name].__enter__()

    def machine(self) -> Object:
        """Three disks with something to make and something to run for each, and CPUs that stand still."""
        name = f"tiny-{uuid4().hex[:6]}"
        file = str(self.lab.home / "tiny" / "disk")
        volumes: list[Object] = [
            {"name": "overlay", "copy": {"mode": "copy-on-write"}, "hostDisk": {"path": file, "type": "Disk"}},
            {"name": "clone", "copy": {"mode": "clone"}, "http": {"url": f"{self.web.http}/disk"}},
            {"name": "web", "http": {"url": f"{self.web.http}/disk"}},
        ]
        disks: list[Object] = [{"name": each["name"], "disk": {}} for each in volumes]
        disks[2]["disk"] = {"readonly": True}
        return manifests.still("default", name, disks, volumes)


@pytest.fixture(scope="module")
def workshop(doomed: Lab) -> Iterator[Workshop]:
    files = doomed.home / "tiny"
    files.mkdir()
    files.chmod(0o755)
    data_disk(files / "disk", content("tiny", 4 * MIB))
    doomed.process.__exit__(None, None, None)
    with ExitStack() as stack:
        # Whoever comes next finds the lab as it was.
        stack.callback(IngotUp.__enter__, doomed)
        web = stack.enter_context(Nginx(files, "reader", "-"))
        stack.enter_context(IngotUp(doomed.directory))
        children = {}
        for name in (MACHINE, AGENT):
            command = [sys.executable, "-m", "ingot", name, "--dir", str(doomed.directory)]
            children[name] = stack.enter_context(Process(name, command, doomed.home / f"{name}.log"))
        yield Workshop(doomed, children, web)


@pytest.mark.parametrize(
    ("seed", "victims"),
    [(1, [AGENT]), (2, [AGENT, MACHINE]), (3, [LIBVIRTD]), (4, [AGENT, LIBVIRTD]), (5, [AGENT])],
    ids=lambda value: str(value) if isinstance(value, int) else "-".join(value),
)
async def test_machines_are_started_once_and_leave_nothing(
    seed: int, victims: list[str], doomed: Lab, workshop: Workshop
) -> None:
    chance = random.Random(seed)  # noqa: S311 - nothing is kept secret by it
    async with parts.connected(doomed) as client:
        await living.node_name(client)
        await parts.nothing_but(doomed, client, set())
        machines = [await client.create(MACHINES, workshop.machine()) for _ in range(AT_ONCE)]
        await asyncio.sleep(chance.uniform(0, START_SECONDS))
        await workshop.kill(victims)
        for machine in machines:
            instance = await living.running(client, machine)
            assert len(parts.qemus(doomed, instance)) == 1
            if LIBVIRTD not in victims:
                check_launches(doomed, instance)
        for machine in machines:
            await client.delete(MACHINES, name_of(machine), namespace_of(machine), propagation="Foreground")
        await asyncio.sleep(chance.uniform(0, END_SECONDS))
        await workshop.kill(victims)
        for machine in machines:
            await gone(client, machine)
        await parts.nothing_but(doomed, client, set())


async def test_an_agent_that_is_killed_while_libvirt_starts_its_guests_leaves_nothing(
    doomed: Lab, workshop: Workshop
) -> None:
    async with parts.connected(doomed) as client:
        await living.node_name(client)
        await parts.nothing_but(doomed, client, set())
        machines = [await client.create(MACHINES, workshop.machine()) for _ in range(AT_ONCE)]

        async def begun() -> bool:
            return bool(parts.virsh(doomed, "list", "--all", "--name"))

        await living.eventually(begun, lambda: "libvirt has no domain")
        await workshop.kill([AGENT])
        for machine in machines:
            await living.running(client, machine)
            await client.delete(MACHINES, name_of(machine), namespace_of(machine), propagation="Foreground")
        for machine in machines:
            await gone(client, machine)
        await parts.nothing_but(doomed, client, set())


async def test_a_domain_that_the_agent_has_no_record_of_is_ended_when_it_is_its_own(
    doomed: Lab, workshop: Workshop
) -> None:
    async with parts.connected(doomed) as client, Hypervisor(parts.libvirtd(doomed)) as hypervisor:
        await living.node_name(client)
        await parts.nothing_but(doomed, client, set())
        await start(hypervisor, "own", doomed.directory / "node" / "machines")
        others = await start(hypervisor, "others", doomed.home / "machines")
        try:
            await workshop.kill([AGENT])
            await parts.nothing_but(doomed, client, {f"domain {others}"})
            assert list(await hypervisor.domains()) == [others]
        finally:
            await hypervisor.destroy(others)


async def start(hypervisor: Hypervisor, name: str, machines: Path) -> str:
    """Starts a domain as an agent with its records in that directory does; its name."""
    metadata = {"namespace": "default", "name": name, "uid": str(uuid4())}
    instance = {"metadata": metadata, "spec": {"domain": {"devices": {}, "memory": {"guest": "32Mi"}}}}
    place = machines / metadata["uid"]
    place.mkdir(parents=True)
    await hypervisor.start(domain_xml(instance, Host("tcg", "maximum"), [], place / "console"), paused=True)
    return domain_name(instance)


def check_launches(lab: Lab, instance: Object) -> None:
    """libvirt has never started a QEMU before another had ended. A libvirtd that is killed at a start has written it
    down too, though its QEMU was not to be."""
    log = parts.libvirtd(lab).logs / f"{domain_name(instance)}.log"
    lines = [line for line in log.read_text().splitlines() if ": starting up libvirt" in line or ": shutting" in line]
    assert ["starting" in line for line in lines] == [number % 2 == 0 for number in range(len(lines))], lines
    assert len(lines) % 2 == 1, lines


async def gone(client: Client, machine: Object) -> None:
    async def look() -> bool:
        machines = await client.list(MACHINES, namespace_of(machine))
        return name_of(machine) not in {name_of(each) for each in machines["items"]}

    await living.eventually(look, lambda: f"{name_of(machine)} is still there")
