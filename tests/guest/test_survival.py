"""Kill -9 anything at any moment: guests go on, and nothing is lost or left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import uuid4

import pytest

from guest import lab as living
from guest import manifests, parts
from guest.console import Console
from guest.disks import MIB, content, data_disk, md5
from guest.lab import Lab
from guest.parts import AGENT, LIBVIRTD, MACHINE, SERVER
from guest.servers.nginx import Nginx
from guest.servers.storage_daemon import StorageDaemon
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import INSTANCES, MACHINES
from ingot.host.process import Process
from ingot.kube.client import Client
from ingot.kube.objects import condition, is_true
from ingot.node.domain.document import domain_name

pytestmark = pytest.mark.timeout(200)

WEB_SIZE, NET_SIZE = 64 * MIB, 24 * MIB
# The guest writes a file, reads it back from the disk and compares, again and again. A round that fails is told.
WORK = """round=0; while :; do
dd if=/dev/urandom of=/mnt/io/new bs=64k count=2 2>/dev/null && sync && sum=$(md5sum </mnt/io/new)
echo 1 >/proc/sys/vm/drop_caches
[ "$(md5sum </mnt/io/new)" = "$sum" ] && [ -n "$sum" ] || echo $round >>/tmp/failed
round=$((round + 1)); echo $round >/tmp/round; usleep 200000; done"""
# Reads the first 8 MiB of a disk, waits to be told, and reads the rest.
READ = (
    "rm -f /tmp/half /tmp/go /tmp/sum; { dd bs=1M count=8 2>/dev/null; touch /tmp/half; "
    "until [ -e /tmp/go ]; do usleep 10000; done; cat; } <$(disk %s) | md5sum | cut -c -32 >/tmp/sum & true"
)
HALF = "until [ -e /tmp/half ]; do usleep 50000; done"
DONE = "until [ -s /tmp/sum ]; do usleep 50000; done; cat /tmp/sum"


@dataclass
class Survivor:
    """A guest that works while the world around it is killed."""

    lab: Lab
    machine: Object
    instance: Object
    qemu: int
    boot: str
    web: Nginx
    net: StorageDaemon
    digests: dict[str, str]

    async def check(self, console: Console) -> None:
        """It is the same guest as ever, under the same name, and its work goes on without a fault."""
        async with parts.connected(self.lab) as client:
            instance = await living.running(client, self.machine)
            assert uid_of(instance) == uid_of(self.instance)
            await self._ready(client)
        await living.eventually(self._is_known, lambda: "libvirt does not know the guest again")
        assert parts.qemus(self.lab, self.instance) == [self.qemu]
        assert parts.launches(self.lab, self.instance) == 1
        assert await console.run("cat /proc/sys/kernel/random/boot_id") == self.boot
        done = int(await console.run("cat /tmp/round"))
        await console.run(f"until [ $(cat /tmp/round) -gt $(({done} + 1)) ]; do usleep 50000; done")
        await self.no_error(console)

    async def _is_known(self) -> bool:
        """libvirt has the guest, and its monitor answers."""
        if not parts.libvirtd(self.lab).process:
            return False
        return parts.virsh(self.lab, "qemu-monitor-command", self.domain, "--hmp", "info status") == [
            "VM status: running"
        ]

    @property
    def domain(self) -> str:
        return domain_name(self.instance)

    async def no_error(self, console: Console) -> None:
        assert await console.run("cat /tmp/failed 2>/dev/null; dmesg | grep -i 'i/o error'; true") == ""

    async def _ready(self, client: Client) -> None:
        async def look() -> bool:
            return is_true(await self.look(client), "Ready")

        await living.eventually(look, lambda: "the guest runs, and its instance is not Ready")

    async def look(self, client: Client) -> Object:
        return await client.get(INSTANCES, name_of(self.instance), namespace_of(self.instance))


@pytest.fixture(scope="module")
def survivor(doomed: Lab) -> Iterator[Survivor]:
    files = doomed.home / "files"
    files.mkdir()
    files.chmod(0o755)
    data_disk(files / "io", b"")
    digests = {}
    for name, size in (("web", WEB_SIZE), ("net", NET_SIZE)):
        data = content(name, size)
        (files / name).write_bytes(data)
        digests[name] = md5(data)
    with Nginx(files, "reader", "-") as web, StorageDaemon({"net": files / "net"}) as net:
        volumes: list[Object] = [
            {"name": "io", "hostDisk": {"path": str(files / "io"), "type": "Disk"}},
            {"name": "web", "http": {"url": f"{web.http}/web"}},
            {"name": "net", "nbd": {"host": "127.0.0.1", "port": net.port, "export": "net"}},
        ]
        machine, instance, boot = asyncio.run(started(doomed, volumes))
        (qemu,) = parts.qemus(doomed, instance)
        yield Survivor(doomed, machine, instance, qemu, boot, web, net, digests)


async def started(lab: Lab, volumes: list[Object]) -> tuple[Object, Object, str]:
    """The machine, its instance and the boot that it is in, once it works."""
    disks: list[Object] = [{"name": each["name"], "serial": each["name"], "disk": {}} for each in volumes]
    disks[1]["disk"] = {"readonly": True}
    name = f"survivor-{uuid4().hex[:6]}"
    async with parts.connected(lab) as client:
        await living.node_name(client)
        wanted = manifests.machine("default", name, lab.boot, disks, volumes)
        # One that is still booting does not hear that it is to shut down.
        wanted["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 1
        machine = await client.create(MACHINES, wanted)
        instance = await living.running(client, machine)
    async with parts.console(lab, instance) as console:
        await console.run("mountdisk io")
        for line in ("cat >/tmp/work <<'END'", *WORK.splitlines(), "END", "sh /tmp/work &"):
            await console.send(f"{line}\n")
        await console.run("until [ -e /tmp/round ]; do usleep 50000; done")
        return machine, instance, await console.run("cat /proc/sys/kernel/random/boot_id")


@pytest.mark.parametrize(
    "victims", [[AGENT], [MACHINE], [LIBVIRTD], [SERVER], [SERVER, MACHINE, AGENT, LIBVIRTD]], ids="-".join
)
async def test_a_guest_outlives(victims: list[str], doomed: Lab, survivor: Survivor) -> None:
    before = [parts.part(doomed, name) for name in victims]
    await parts.killed(doomed, *victims)
    async with parts.console(doomed, survivor.instance) as console:
        await survivor.check(console)
    assert not [process for process in before if process.alive]


async def test_a_guest_reads_on_when_its_bridge_is_killed(doomed: Lab, survivor: Survivor) -> None:
    async with parts.console(doomed, survivor.instance) as console:
        await console.run(READ % "web")
        await console.run(HALF)
        asked = len(survivor.web.requests())
        await console.run("touch /tmp/go")

        async def reads() -> bool:
            return len(survivor.web.requests()) > asked

        await living.eventually(reads, lambda: "the guest does not read")
        killed_at = len(survivor.web.requests())
        (bridge,) = [pid for pid, command in doomed.processes(uid_of(survivor.instance)) if "nbdkit" in command[0]]
        await parts.kill(Process.of(bridge))
        assert await console.run(DONE, 60) == survivor.digests["web"]
        assert len(survivor.web.requests()) > killed_at
        await survivor.check(console)


async def test_a_guest_stands_still_while_its_server_is_away(doomed: Lab, survivor: Survivor) -> None:
    async with parts.console(doomed, survivor.instance) as console, parts.connected(doomed) as client:
        await console.run(READ % "net")
        await console.run(HALF)
        await parts.kill(Process.of(survivor.net.process.pid))
        survivor.net.stop()
        await console.send("touch /tmp/go\n")

        async def stands() -> bool:
            return (condition(await survivor.look(client), "Paused") or {}).get("reason") == "PausedIOError"

        await living.eventually(stands, lambda: "the guest was not paused")
        # Whoever comes next finds it standing.
        await parts.killed(doomed, AGENT)
        survivor.net.start()
    async with parts.console(doomed, survivor.instance) as console:
        assert await console.run(DONE, 60) == survivor.digests["net"]
        await survivor.check(console)


async def test_a_guest_that_is_killed_has_failed_and_one_that_powers_off_has_not(
    doomed: Lab, survivor: Survivor
) -> None:
    async with parts.connected(doomed) as client:
        seen = asyncio.create_task(phases(client, survivor.machine, 2))
        await parts.kill(Process.of(survivor.qemu))
        second = await another(client, survivor.machine, survivor.instance)
        async with parts.console(doomed, second) as console:
            await console.send("poweroff -f\n")
        third = await another(client, survivor.machine, second)
        ends = await asyncio.wait_for(seen, 30)
        assert ends == {uid_of(survivor.instance): "Failed", uid_of(second): "Succeeded"}
        await living.deleted(client, survivor.machine)
        assert parts.qemus(doomed, third) == []
        await parts.nothing_but(doomed, client, set())


async def another(client: Client, machine: Object, before: Object) -> Object:
    """The next instance of a machine, once its guest runs."""
    found: list[Object] = []

    async def look() -> Object | None:
        found[:] = [await living.running(client, machine)]
        return found[0] if uid_of(found[0]) != uid_of(before) else None

    return await living.eventually(look, lambda: found)


async def phases(client: Client, machine: Object, count: int) -> dict[str, str]:
    """The last phases of the machine's instances, by their uids, once that many are over."""
    ends: dict[str, str] = {}
    selector = f"metadata.name={name_of(machine)}"
    async for event in client.watch(INSTANCES, namespace_of(machine), field_selector=selector):
        phase = event.object.get("status", {}).get("phase")
        if phase in ("Succeeded", "Failed"):
            ends.setdefault(uid_of(event.object), phase)
        if len(ends) == count:
            break
    return ends
