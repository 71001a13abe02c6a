"""Claims that grow: their guests see it while they run, and find it when they start (KubeVirt's ExpandDisks)."""

from __future__ import annotations

import os
from uuid import uuid4

import pytest

from guest import lab as living
from guest import manifests
from guest.console import Console
from guest.disks import MIB
from guest.lab import Lab
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import EVENTS, MACHINES, NAMESPACES, VOLUME_CLAIMS
from ingot.kube.client import Client

pytestmark = pytest.mark.timeout(300)

SERIAL = "GROWING"
SECTORS = f"cat /sys/block/$(basename $(disk {SERIAL}))/size"


def sectors(mebibytes: int) -> str:
    return str(mebibytes * MIB // 512)


def claim(namespace: str, mode: str, size: str) -> Object:
    """A claim of the default storage class."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"namespace": namespace, "name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "volumeMode": mode,
            "resources": {"requests": {"storage": size}},
        },
    }


async def ask_for(client: Client, namespace: str, size: str) -> None:
    change = {"spec": {"resources": {"requests": {"storage": size}}}}
    await client.patch(VOLUME_CLAIMS, "data", change, namespace)


async def let_run(client: Client, machine: Object, strategy: str) -> None:
    await client.patch(MACHINES, name_of(machine), {"spec": {"runStrategy": strategy}}, namespace_of(machine))


async def events_of(client: Client, instance: Object, reason: str) -> list[str]:
    selector = f"involvedObject.uid={uid_of(instance)},reason={reason}"
    found = await client.list(EVENTS, namespace_of(instance), field_selector=selector)
    return [str(event["message"]) for event in found["items"]]


async def seen(console: Console, wanted: str) -> None:
    """Waits until the guest sees a disk of that many sectors."""
    last = [""]

    async def look() -> bool:
        last[0] = await console.run(SECTORS)
        return last[0] == wanted

    await living.eventually(look, lambda: f"the guest sees {last[0]} sectors", 30)


async def sized(client: Client, machine: Object, size: int) -> None:
    """Waits until the status of the instance tells the size."""
    last: list[object] = [None]

    async def look() -> bool:
        instance = await living.instance_of(client, machine) or {}
        told = {each["name"]: each for each in instance["status"]["volumeStatus"]}
        last[0] = told["data"]
        return bool(told["data"].get("size") == size)

    await living.eventually(look, lambda: last[0], 10)


@pytest.mark.parametrize("mode", ["Filesystem", "Block"])
async def test_a_guest_sees_its_claim_grow_while_it_runs_and_when_it_starts(
    lab: Lab, client: Client, mode: str
) -> None:
    if mode == "Block" and os.geteuid() != 0:
        pytest.skip("only root has loop devices")
    namespace = f"growth-{uuid4().hex[:8]}"
    await client.create(NAMESPACES, manifests.namespace(namespace))
    await client.create(VOLUME_CLAIMS, claim(namespace, mode, "16Mi"))
    disk = {"name": "data", "serial": SERIAL, "disk": {"bus": "virtio"}}
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    async with living.created(client, manifests.machine(namespace, "grower", lab.boot, [disk], [volume])) as machine:
        instance = await living.running(client, machine)
        async with living.console_of(client, instance) as console:
            await console.ready()
            assert await console.run(SECTORS) == sectors(16)
            await ask_for(client, namespace, "32Mi")
            await seen(console, sectors(32))
            await _write_at_the_end(console, 31)
        await sized(client, machine, 32 * MIB)
        await living.eventually(lambda: events_of(client, instance, "VolumeResized"), lambda: "no event tells", 10)
        assert await events_of(client, instance, "VolumeResizeFailed") == []
        await _grow_while_off(client, machine)


async def _write_at_the_end(console: Console, mebibyte: int) -> None:
    """What the guest writes where there was no disk before is there when it is read from the disk."""
    await console.run("dd if=/dev/urandom of=/tmp/new bs=1M count=1 2>/dev/null")
    await console.run(f"dd if=/tmp/new of=$(disk {SERIAL}) bs=1M seek={mebibyte} conv=fsync 2>/dev/null")
    await console.run("echo 1 >/proc/sys/vm/drop_caches")
    await console.run(f"dd if=$(disk {SERIAL}) bs=1M skip={mebibyte} count=1 2>/dev/null | cmp - /tmp/new")


async def _grow_while_off(client: Client, machine: Object) -> None:
    """A disk whose claim has grown while its machine was off is that large from the beginning."""
    namespace = namespace_of(machine)
    await let_run(client, machine, "Halted")

    async def gone() -> bool:
        return await living.instance_of(client, machine) is None

    await living.eventually(gone, lambda: "the instance is still there", 60)
    await ask_for(client, namespace, "48Mi")

    async def is_grown() -> bool:
        found = await client.get(VOLUME_CLAIMS, "data", namespace)
        return bool(found["status"]["capacity"]["storage"] == "48Mi")

    await living.eventually(is_grown, lambda: "the claim has not grown", 20)
    await let_run(client, machine, "Always")
    instance = await living.running(client, machine)
    async with living.console_of(client, instance) as console:
        await console.ready()
        assert await console.run(SECTORS) == sectors(48)
    await sized(client, machine, 48 * MIB)
    assert await events_of(client, instance, "VolumeResized") == []
