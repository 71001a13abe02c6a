"""Snapshots of machines on storage that shares no blocks: full copies of all disks, of one moment (F5)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest

from guest import lab as living
from guest import manifests
from guest.disks import MIB
from guest.lab import Lab
from guest.saved import Saved
from guest.sources import GlusterFile, HostDisk, Images, IscsiClaim, Nbd, Rbd, Servers, Source
from ingot.api.object import Object, name_of
from ingot.api.resources import MACHINES, VOLUME_CLAIMS
from ingot.kube.client import Client

pytestmark = pytest.mark.timeout(300)

# In the guest: numbers that count up, on one disk after the other.
WRITER = """(i=1; while true; do for disk in {disks}; do echo $i | dd of=$disk bs=512 conv=sync,fsync 2>/dev/null; \
done; i=$((i+1)); done) & true"""


def claim(namespace: str, name: str, mode: str) -> Object:
    spec = {"accessModes": ["ReadWriteOnce"], "volumeMode": mode, "resources": {"requests": {"storage": "16Mi"}}}
    metadata = {"namespace": namespace, "name": name}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def number(disk: Path) -> int:
    """What was last written to a disk."""
    with disk.open("rb") as file:
        return int(file.read(512).rstrip(b"\0") or b"0")


def assert_one_moment(numbers: Sequence[int]) -> None:
    """Each disk has what the one before has, or is one behind."""
    assert numbers[0] > 0
    assert list(numbers) == sorted(numbers, reverse=True), numbers
    assert numbers[0] - numbers[-1] <= 1, numbers


async def test_disks_of_every_kind_are_saved_at_one_moment_while_the_guest_goes_on(
    lab: Lab, client: Client, servers: Servers
) -> None:
    mark = uuid4().hex[:6]
    namespace = f"saving-{mark}"
    kinds: dict[str, type[Source]] = {
        "file": HostDisk,
        "nbd": Nbd,
        "iscsi": IscsiClaim,
        "rbd": Rbd,
        "gluster": GlusterFile,
    }
    with ExitStack() as stack:
        node = await living.node_name(client)
        objects = [
            manifests.namespace(namespace),
            claim(namespace, "fs", "Filesystem"),
            claim(namespace, "dev", "Block"),
        ]
        volumes: list[Object] = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in ("fs", "dev")]
        for name, kind in kinds.items():
            source = kind(Images(lab.home / f"{namespace}-{name}", f"{mark}{name}"), namespace)
            objects += source.start(stack, servers, node)
            volumes.append({"name": name, **source.volume("own")})
        volumes.append({"name": "scratch", "emptyDisk": {"capacity": "16Mi"}})
        for each in objects:
            await client.create(manifests.resource_of(each), each)
        names = [str(each["name"]) for each in volumes]
        disks = [{"name": name, "serial": f"{name}-{mark}", "disk": {"bus": "virtio"}} for name in names]
        saved = Saved(client, namespace)
        async with living.created(client, manifests.machine(namespace, "vm", lab.boot, disks, volumes)) as machine:
            instance = await living.running(client, machine, 120)
            async with living.console_of(client, instance) as console:
                await console.ready()
                devices = " ".join(f"$(disk {name}-{mark})" for name in names[:-1])
                await console.run(WRITER.format(disks=devices))
                await console.run(f"until head -n 1 $(disk {names[-2]}-{mark}) | grep -q 1; do usleep 50000; done")
                taken = await saved.taken("vm")
                assert taken["status"]["indications"] == ["Online", "NoGuestAgent"]
                assert taken["status"]["snapshotVolumes"]["includedVolumes"] == names[:-1]
                assert taken["status"]["snapshotVolumes"]["excludedVolumes"] == ["boot", "scratch"]
                content = await saved.content(taken)
                copies = [await saved.disk(each["savedClaimName"]) for each in content["spec"]["volumeBackups"]]
                before = [number(each) for each in copies]
                assert_one_moment(before)
                assert content["status"]["copying"]["copiedBytes"] == sum(each.stat().st_size for each in copies)
                later = f"[ $(head -n 1 $(disk fs-{mark}) | tr -d '\\0') -gt {before[0]} ]"
                await console.run(f"until {later}; do usleep 50000; done")
                clone = await saved.cloned("fs")
                assert number(await saved.disk(clone)) > before[0]
            await saved.no_savers()
            await client.patch(MACHINES, "vm", {"spec": {"runStrategy": "Halted"}}, namespace)
            assert_one_moment([number(await saved.disk(each)) for each in ("fs", "dev")])

            made = await saved.restored("vm")
            assert [number(await saved.disk(made[name])) for name in names[:-1]] == before
            back = await client.get(MACHINES, "vm", namespace)
            used = {each["name"]: each for each in back["spec"]["template"]["spec"]["volumes"]}
            for name in names[:-1]:
                assert used[name] == {"name": name, "persistentVolumeClaim": {"claimName": made[name]}}
            assert "emptyDisk" in used["scratch"]
            modes = [(await client.get(VOLUME_CLAIMS, made[name], namespace))["spec"]["volumeMode"] for name in made]
            assert modes == ["Filesystem", "Block", *["Filesystem"] * len(kinds)]
            assert name_of(back) == "vm"
            assert copies[0].stat().st_size == 16 * MIB
