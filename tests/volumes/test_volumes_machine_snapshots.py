"""On a filesystem that shares blocks: clones that take a moment and no room, snapshots of machines and the way back.

The machine has a guest without an operating system: it runs, and its disk is what the test writes (F5, G10).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eventual import eventually
from guest.lab import node_name
from ingot.api.cdi.names import CLONE_TYPE
from ingot.api.object import Object, uid_of
from ingot.api.resource import Resource
from ingot.api.resources import (
    DATA_VOLUMES,
    INSTANCES,
    MACHINE_RESTORES,
    MACHINE_SNAPSHOTS,
    MACHINES,
    PODS,
    SNAPSHOTS,
    VOLUME_CLAIMS,
)
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from ingot.kube.objects import condition
from ingot_up import IngotUp, WholeMachine
from volumes.conftest import new_shelf
from volumes.shelf import Shelf, volume

MEGABYTE = 1 << 20
SHARED_BYTES = 64 * MEGABYTE
FIRST, SECOND = b"as it was" * 1000, b"as it became" * 1000


@pytest.fixture(scope="module")
def sharing() -> Iterator[IngotUp]:
    """Ingot with everything in it, on an XFS of its own. Skips where that cannot be mounted."""
    if os.geteuid() != 0:
        pytest.skip("mounting XFS needs root")
    if missing := [program for program in ("libvirtd", "qemu-system-x86_64") if not shutil.which(program)]:
        pytest.skip(f"no {', '.join(missing)}: run `make setup`")
    with tempfile.TemporaryDirectory(prefix="ingot-") as made:
        Path(made).chmod(0o755)
        image, place = Path(made) / "xfs.img", Path(made) / "xfs"
        image.touch()
        os.truncate(image, 2048 * MEGABYTE)
        place.mkdir()
        for command in (["mkfs.xfs", "-q", str(image)], ["mount", "-o", "loop", str(image), str(place)]):
            try:
                subprocess.run(command, check=True, capture_output=True)
            except (OSError, subprocess.CalledProcessError) as error:
                pytest.skip(f"XFS cannot be made or mounted here: {error}")
        try:
            with WholeMachine(place / "d") as server:
                yield server
        finally:
            subprocess.run(["umount", str(place)], check=True)


@pytest.fixture
async def owner(sharing: IngotUp) -> AsyncIterator[Client]:
    async with Client.connect(load(sharing.kubeconfig), on_warning=lambda _: None) as client:
        await node_name(client)
        yield client


@pytest.fixture
async def shelf(owner: Client, sharing: IngotUp) -> Shelf:
    return await new_shelf(owner, sharing)


async def until(shelf: Shelf, resource: Resource, name: str, done: Callable[[Object], Any]) -> Object:
    seen: list[Object] = [{}]

    async def look() -> Object | None:
        seen[0] = await shelf.client.get(resource, name, shelf.namespace)
        return seen[0] if done(seen[0]) else None

    try:
        return await eventually(look, 60.0)
    except AssertionError as error:
        raise AssertionError(f"{name}: {seen[0]}: {error}") from error


async def write(shelf: Shelf, claim: str, content: bytes) -> None:
    with ((await shelf.place(claim)) / "disk.img").open("r+b") as file:
        file.write(content)
        os.fsync(file.fileno())


def free(shelf: Shelf) -> int:
    os.sync()
    found = os.statvfs(shelf.server.directory)
    return found.f_bfree * found.f_frsize


async def test_a_clone_shares_blocks_across_namespaces_while_the_original_is_written_to(
    shelf: Shelf, owner: Client, sharing: IngotUp
) -> None:
    """G10: the storage itself clones; a writer is no obstacle, for it takes one moment."""
    await shelf.make(volume("golden", {"blank": {}}, "256Mi"))
    await shelf.filled("golden")
    content = os.urandom(SHARED_BYTES)
    await write(shelf, "golden", content)
    container: Object = {"name": "main", "image": "ingot", "command": ["sleep", "600"]}
    container["volumeMounts"] = [{"name": "disk", "mountPath": "/disk"}]
    volumes = [{"name": "disk", "persistentVolumeClaim": {"claimName": "golden"}}]
    spec = {"containers": [container], "volumes": volumes, "terminationGracePeriodSeconds": 0}
    await shelf.create(PODS, "writer", spec)
    await until(shelf, PODS, "writer", lambda each: each["status"].get("phase") == "Running")

    there, before = await new_shelf(owner, sharing), free(shelf)
    await there.make(volume("clone", {"pvc": {"namespace": shelf.namespace, "name": "golden"}}))
    await there.filled("clone")
    assert before - free(shelf) < 4 * MEGABYTE
    claim = await there.claim("clone")
    assert claim["metadata"]["annotations"][CLONE_TYPE] == "csi-clone"
    (why,) = await eventually(lambda: there.events(claim, "CloneStrategySelected"))
    assert "share blocks" in why
    assert await there.content("clone", SHARED_BYTES) == content
    assert await there.pods() == []
    names = {each["metadata"]["name"] for each in (await owner.list(VOLUME_CLAIMS, shelf.namespace))["items"]}
    assert names == {"golden"}, "nothing is left of the way over"
    await owner.delete(PODS, "writer", shelf.namespace, grace_period=0)


async def test_a_snapshot_outlives_its_claim(shelf: Shelf, owner: Client) -> None:
    """G10: what is cloned from a snapshot does not need the claim that it was made of."""
    await shelf.make(volume("golden", {"blank": {}}, "64Mi"))
    await shelf.filled("golden")
    await write(shelf, "golden", FIRST)
    await shelf.create(SNAPSHOTS, "before", {"source": {"persistentVolumeClaimName": "golden"}})
    await until(shelf, SNAPSHOTS, "before", lambda each: each.get("status", {}).get("readyToUse"))
    await owner.delete(DATA_VOLUMES, "golden", shelf.namespace)
    await eventually(lambda: _gone(shelf, VOLUME_CLAIMS, "golden"))
    await shelf.make(volume("again", {"snapshot": {"namespace": shelf.namespace, "name": "before"}}))
    await shelf.filled("again")
    assert await shelf.content("again", len(FIRST)) == FIRST
    assert (await shelf.claim("again"))["metadata"]["annotations"][CLONE_TYPE] == "snapshot"


def machine(strategy: str = "Halted") -> Object:
    template = {"metadata": {"name": "vm-root"}, "spec": {"source": {"blank": {}}, "storage": {"resources": SIZE}}}
    disks = [{"name": name, "disk": {"bus": "virtio"}} for name in ("root", "data", "seed")]
    volumes = [
        {"name": "root", "dataVolume": {"name": "vm-root"}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "seed", "emptyDisk": {"capacity": "16Mi"}},
    ]
    domain = {"memory": {"guest": "64Mi"}, "devices": {"disks": disks, "autoattachPodInterface": False}}
    inner = {"terminationGracePeriodSeconds": 0, "domain": domain, "volumes": volumes}
    return {"runStrategy": strategy, "dataVolumeTemplates": [template], "template": {"spec": inner}}


SIZE = {"requests": {"storage": "64Mi"}}


async def furnished(shelf: Shelf, strategy: str = "Halted") -> None:
    """A machine with two disks that hold FIRST."""
    await shelf.make(volume("data", {"blank": {}}, "64Mi"))
    await shelf.filled("data")
    await shelf.create(MACHINES, "vm", machine(strategy))
    await shelf.filled("vm-root")
    for claim in ("data", "vm-root"):
        await write(shelf, claim, FIRST)


async def snapshot(shelf: Shelf, name: str = "snap") -> Object:
    source = {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "vm"}
    await shelf.create(MACHINE_SNAPSHOTS, name, {"source": source})
    return await until(shelf, MACHINE_SNAPSHOTS, name, lambda each: each.get("status", {}).get("readyToUse"))


async def restore(shelf: Shelf, target: str = "vm", name: str = "back") -> Object:
    reference = {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": target}
    spec = {"target": reference, "virtualMachineSnapshotName": "snap"}
    return await shelf.create(MACHINE_RESTORES, name, spec)


async def complete(shelf: Shelf, name: str = "back") -> Object:
    return await until(shelf, MACHINE_RESTORES, name, lambda each: each.get("status", {}).get("complete"))


@pytest.mark.timeout(240)
async def test_a_machine_goes_back_to_a_snapshot_and_another_is_made_of_it(shelf: Shelf, owner: Client) -> None:
    """F5: both disks are as they were, the old ones of the machine are gone, and the copy has its own."""
    await furnished(shelf)
    taken = await snapshot(shelf)
    assert taken["status"]["phase"] == "Succeeded"
    assert taken["status"]["snapshotVolumes"]["includedVolumes"] == ["root", "data"]
    assert taken["status"]["snapshotVolumes"]["excludedVolumes"] == ["seed"]
    assert "indications" not in taken["status"]
    for claim in ("data", "vm-root"):
        await write(shelf, claim, SECOND)

    await restore(shelf)
    done = await complete(shelf)
    made = {each["volumeName"]: each["persistentVolumeClaim"] for each in done["status"]["restores"]}
    for claim in made.values():
        assert await shelf.content(claim, len(FIRST)) == FIRST
    back = await owner.get(MACHINES, "vm", shelf.namespace)
    root, data, seed = back["spec"]["template"]["spec"]["volumes"]
    assert (root["dataVolume"]["name"], data["persistentVolumeClaim"]["claimName"]) == (made["root"], made["data"])
    assert "emptyDisk" in seed
    await shelf.filled(made["root"])
    await eventually(lambda: _gone(shelf, DATA_VOLUMES, "vm-root"))
    assert await shelf.content("data", len(SECOND)) == SECOND, "a claim that somebody made is not taken away"

    await restore(shelf, "copy", "forth")
    copied = await complete(shelf, "forth")
    for each in copied["status"]["restores"]:
        assert each["persistentVolumeClaim"] not in made.values()
        assert await shelf.content(each["persistentVolumeClaim"], len(FIRST)) == FIRST
    for name in ("copy", "vm"):
        await owner.delete(MACHINES, name, shelf.namespace)
    await owner.delete(MACHINE_SNAPSHOTS, "snap", shelf.namespace)
    await eventually(lambda: _none(shelf, SNAPSHOTS))
    await owner.delete(DATA_VOLUMES, "data", shelf.namespace)
    await shelf.nothing_left()


async def _gone(shelf: Shelf, resource: Resource, name: str) -> bool:
    listed = await shelf.client.list(resource, shelf.namespace, field_selector=f"metadata.name={name}")
    return not listed["items"]


async def _none(shelf: Shelf, resource: Resource) -> bool:
    return not (await shelf.client.list(resource, shelf.namespace))["items"]


@pytest.mark.timeout(240)
async def test_a_machine_that_runs_is_snapshotted_and_is_stopped_before_it_goes_back(
    shelf: Shelf, owner: Client
) -> None:
    """F5: online, as after a power cut; a restore waits until it is stopped, and it starts on what was restored."""
    await furnished(shelf)
    await owner.patch(MACHINES, "vm", {"spec": {"runStrategy": "Always"}}, shelf.namespace)
    await until(shelf, INSTANCES, "vm", lambda each: each.get("status", {}).get("phase") == "Running")
    taken = await snapshot(shelf)
    assert taken["status"]["indications"] == ["Online", "NoGuestAgent"]

    await restore(shelf)

    def refused(each: Object) -> bool:
        return "is running: stop it" in (condition(each, "Ready") or {}).get("message", "")

    await until(shelf, MACHINE_RESTORES, "back", refused)
    await owner.patch(MACHINES, "vm", {"spec": {"runStrategy": "Halted"}}, shelf.namespace)
    done = await complete(shelf)
    await owner.patch(MACHINES, "vm", {"spec": {"runStrategy": "Always"}}, shelf.namespace)
    running = await until(shelf, INSTANCES, "vm", lambda each: each.get("status", {}).get("phase") == "Running")
    used = {each["persistentVolumeClaim"] for each in done["status"]["restores"]}
    told = {
        (each.get("persistentVolumeClaimInfo") or {}).get("claimName") for each in running["status"]["volumeStatus"]
    }
    assert used <= told
    assert uid_of(running)
    await owner.delete(MACHINES, "vm", shelf.namespace)
    await eventually(lambda: _gone(shelf, MACHINES, "vm"), 60.0)
