"""Kill -9 of whoever has a part in full copies: others are made, nothing half is ready, nothing is left (F5)."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from guest import lab as living
from guest import manifests, parts
from guest.conftest import Servers
from guest.disks import MIB
from guest.lab import Lab
from guest.parts import AGENT, MACHINE
from guest.saved import Saved
from guest.servers.nbdkit import Nbdkit
from ingot.api.object import Object, uid_of
from ingot.api.resources import MACHINE_SNAPSHOTS, MACHINES
from ingot.host.process import Process
from ingot.kube.client import Client

pytestmark = pytest.mark.timeout(300)

# 16 MiB in some seconds.
RATE = "20M"


@dataclass
class Scene:
    """A machine with two disks that take a while to copy, whose guest stands still."""

    lab: Lab
    client: Client
    saved: Saved
    machine: Object
    original: Path

    async def copying(self, name: str) -> Object:
        """Asks for a snapshot, and returns when bytes of it have been copied, and not all."""
        await self.saved.ask("vm", name)

        def begun(each: Object) -> bool:
            told = [condition.get("message", "") for condition in (each.get("status") or {}).get("conditions") or ()]
            return any("Copying volumes" in text and ": 0 of" not in text for text in told)

        return await self.saved.until(MACHINE_SNAPSHOTS, name, begun)

    async def assert_whole(self, snapshot: Object) -> None:
        content = await self.saved.content(snapshot)
        (backup,) = content["spec"]["volumeBackups"]
        assert (await self.saved.disk(backup["savedClaimName"])).read_bytes() == self.original.read_bytes()

    async def assert_nothing_left(self, snapshots: int) -> None:
        """Neither a saver, nor a claim of one that was thrown away, nor anything on the node."""
        await self.saved.no_savers()
        assert len(await self.saved.claims()) == snapshots
        assert list((self.lab.directory / "node" / "savers").iterdir()) == []
        left = [each for each in (self.lab.directory / "node" / "machines").rglob("*") if "cap" in each.name]
        assert left == []


@pytest.fixture
async def scene(doomed: Lab, servers: Servers) -> AsyncIterator[Scene]:
    mark = uuid4().hex[:6]
    namespace, files = f"kills-{mark}", doomed.home / f"kills-{mark}"
    files.mkdir()
    files.chmod(0o755)
    original = files / "disk"
    original.write_bytes(os.urandom(16 * MIB))
    original.chmod(0o666)
    server = servers.start(Nbdkit(files, rate=RATE))
    volume = {"name": "disk", "networkVolume": {"uri": server.uri("disk"), "format": "raw", "readOnly": False}}
    machine = manifests.still(namespace, "vm", [{"name": "disk", "disk": {"bus": "virtio"}}], [volume])
    async with parts.connected(doomed) as client:
        await living.node_name(client)
        await client.create(manifests.resource_of(manifests.namespace(namespace)), manifests.namespace(namespace))
        async with living.created(client, machine) as made:
            yield Scene(doomed, client, Saved(client, namespace), made, original)


def _aim(scene: Scene, instance: Object) -> dict[str, Callable[[], Process]]:
    return {
        "agent": lambda: parts.part(scene.lab, AGENT),
        "qemu": lambda: Process.of(parts.qemus(scene.lab, instance)[0]),
    }


async def test_copies_of_a_running_guest_outlive_controllers_and_are_made_anew_after_agent_and_qemu(
    scene: Scene,
) -> None:
    instance = await living.running(scene.client, scene.machine)
    await scene.copying("first")
    await parts.killed(scene.lab, MACHINE)
    first = await scene.saved.complete("first")
    await scene.assert_whole(first)
    for number, victim in enumerate(("agent", "qemu"), 2):
        await scene.copying(victim)
        await parts.kill(_aim(scene, instance)[victim]())
        taken = await scene.saved.complete(victim)
        await scene.assert_whole(taken)
        await scene.assert_nothing_left(number)
    again = await living.running(scene.client, scene.machine)
    assert uid_of(again) != uid_of(instance), "it was started again while its disks were saved"


async def test_a_machine_that_does_not_run_starts_only_when_its_disks_are_copied(scene: Scene) -> None:
    await living.running(scene.client, scene.machine)
    await _let_run(scene, "Halted")
    await living.eventually(lambda: _is_stopped(scene), lambda: "it runs")
    await scene.copying("snap")
    await parts.killed(scene.lab, AGENT)
    await scene.saved.until(MACHINE_SNAPSHOTS, "snap", lambda each: "agent was ended" in str(each["status"]))
    await scene.saved.until(MACHINE_SNAPSHOTS, "snap", lambda each: "Copying volumes" in str(each["status"]))
    await _let_run(scene, "Always")
    why = await living.refused(scene.client, scene.machine, "StorageInUse")
    assert f"VirtualMachineSnapshot {scene.saved.namespace}/snap" in why
    await scene.assert_whole(await scene.saved.complete())
    await living.running(scene.client, scene.machine)
    await scene.assert_nothing_left(1)
    made = await scene.saved.restored("copy")
    assert (await scene.saved.disk(made["disk"])).read_bytes() == scene.original.read_bytes()


async def _let_run(scene: Scene, strategy: str) -> None:
    await scene.client.patch(MACHINES, "vm", {"spec": {"runStrategy": strategy}}, scene.saved.namespace)


async def _is_stopped(scene: Scene) -> bool:
    return await living.instance_of(scene.client, scene.machine) is None
