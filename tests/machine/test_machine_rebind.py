"""A volume that was filled for one claim is given to another: what populators do when they are done (G1)."""

from pathlib import Path
from typing import Any

import pytest

from eventual import eventually
from ingot.api.cdi.names import SHARES_BLOCKS
from ingot.api.object import Object
from ingot.api.resources import NAMESPACES, NODES, PODS, SERVICE_ACCOUNTS, STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES
from ingot.kube.client import Client
from ingot.standalone.volumes import loop
from ingot.standalone.volumes.local import LocalVolumes
from ingot.standalone.volumes.provisioner import Provisioner
from machine.machine_support import a_claim, a_node, a_pod, events_of, running
from machine.volume_support import (
    asking,
    device_size,
    everything,
    in_phase,
    left_in,
    needs_loop,
    nothing_left,
    release,
    used,
    volume_in_phase,
    write,
)

POPULATED = {
    "dataSourceRef": {"apiGroup": "cdi.kubevirt.io", "kind": "VolumeImportSource", "name": "from"},
}
IMMEDIATE = "at-once"


@pytest.fixture
async def immediate(client: Client) -> str:
    made = {"metadata": {"name": IMMEDIATE}, "provisioner": "ingot.io/local", "allowVolumeExpansion": True}
    found = [each["metadata"]["name"] for each in (await client.list(STORAGE_CLASSES))["items"]]
    if IMMEDIATE not in found:
        await client.create(STORAGE_CLASSES, made)
    return IMMEDIATE


async def rebind(client: Client, volume: str, target: Object) -> None:
    """What a populator does: one patch of the volume."""
    metadata = target["metadata"]
    reference = {"kind": "PersistentVolumeClaim", "apiVersion": "v1"} | {
        key: metadata[key] for key in ("namespace", "name", "uid", "resourceVersion")
    }
    await client.patch(VOLUMES, volume, {"spec": {"claimRef": reference}})


async def other_namespace(client: Client) -> str:
    made = await client.create(NAMESPACES, {"metadata": {"generateName": "other-"}})
    name = str(made["metadata"]["name"])
    await eventually(lambda: client.get(SERVICE_ACCOUNTS, "default", name))
    return name


async def gone(client: Client, resource: Any, name: str, namespace: str = "") -> None:
    async def look() -> bool:
        return name not in [each["metadata"]["name"] for each in (await client.list(resource, namespace))["items"]]

    await eventually(look)


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("delayed", [True, False], ids=["delayed", "immediate"])
async def test_a_claim_for_a_populator_is_left_alone(
    client: Client, namespace: str, immediate: str, directory: Path, delayed: bool
) -> None:
    storage_class = "ingot-local" if delayed else immediate
    target = await client.create(
        VOLUME_CLAIMS, a_claim(namespace, "target", storageClassName=storage_class, **POPULATED)
    )
    await client.create(PODS, a_pod(namespace, "waiting", ("target",)))
    assert await eventually(lambda: events_of(client, target, "ExternalProvisioning"))
    # Nobody waits for what does not happen: the claim that comes next shows that this one was looked at.
    await used(client, namespace, "next")
    found = await client.get(VOLUME_CLAIMS, "target", namespace)
    assert found["status"]["phase"] == "Pending"
    assert await events_of(client, target, "ProvisioningFailed") == []
    assert not [name for name in left_in(directory) if target["metadata"]["uid"] in name]


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("delayed", [True, False], ids=["delayed", "immediate"])
@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "elsewhere"])
async def test_a_volume_is_given_to_another_claim_and_goes_with_that(
    client: Client, namespace: str, immediate: str, directory: Path, delayed: bool, elsewhere: bool
) -> None:
    """G1, G10: in the same namespace or in another one; the prime goes, and takes nothing along."""
    options: Any = {"storageClassName": "ingot-local" if delayed else immediate}
    to = await other_namespace(client) if elsewhere else namespace
    target = await client.create(VOLUME_CLAIMS, a_claim(to, "target", **options, **POPULATED))
    prime = await used(client, namespace, "prime", **options)
    write(prime["path"] / "disk.img")
    await release(client, namespace, "prime")
    volume = prime["spec"]["volumeName"]
    await rebind(client, volume, await client.get(VOLUME_CLAIMS, "target", to))
    bound = await in_phase(client, to, "target")
    assert bound["spec"]["volumeName"] == volume
    assert bound["status"]["capacity"] == {"storage": "1Gi"}
    await in_phase(client, namespace, "prime", "Lost")
    await client.delete(VOLUME_CLAIMS, "prime", namespace)
    await gone(client, VOLUME_CLAIMS, "prime", namespace)

    async def followed() -> bool:
        record = LocalVolumes(directory).record(volume)
        return record is not None and (record.namespace, record.claim_uid) == (to, target["metadata"]["uid"])

    await eventually(followed)
    assert (await volume_in_phase(client, volume, "Bound"))["spec"]["claimRef"]["name"] == "target"
    # Resized by the claim that has it.
    await client.patch(VOLUME_CLAIMS, "target", asking("2Gi"), to)

    async def grown() -> bool:
        found = await client.get(VOLUMES, volume)
        return bool(found["spec"]["capacity"] == {"storage": "2Gi"})

    await eventually(grown)
    # A pod of that claim gets what was written for the other.
    await client.create(PODS, a_pod(to, "user-of-target", ("target",)))
    assert (prime["path"] / "disk.img").read_bytes() == b"guest data"
    await release(client, to, "target")
    await client.delete(VOLUME_CLAIMS, "target", to)
    await eventually(lambda: nothing_left(client, directory))


@needs_loop
@pytest.mark.usefixtures("machine")
async def test_a_device_that_was_given_away_grows_with_its_claim(client: Client, namespace: str) -> None:
    options: Any = {"volumeMode": "Block", "size": "1Mi"}
    await client.create(VOLUME_CLAIMS, a_claim(namespace, "target", **options, **POPULATED))
    prime = await used(client, namespace, "prime", **options)
    await release(client, namespace, "prime")
    await rebind(client, prime["spec"]["volumeName"], await client.get(VOLUME_CLAIMS, "target", namespace))
    await in_phase(client, namespace, "target")
    await client.delete(VOLUME_CLAIMS, "prime", namespace)
    await client.patch(VOLUME_CLAIMS, "target", asking("3Mi"), namespace)

    async def grown() -> bool:
        return device_size(prime["path"]) == 3 << 20

    await eventually(grown)
    # A pod that starts wants the device, which was lost.
    loop.detach(prime["path"].with_name("block.img"))
    await client.create(PODS, a_pod(namespace, "user-of-target", ("target",)))

    async def back() -> bool:
        return loop.attached(prime["path"].with_name("block.img")) is not None

    await eventually(back)


@pytest.mark.usefixtures("node")
async def test_nothing_is_left_when_all_happened_while_nobody_looked(
    client: Client, namespace: str, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The volume was given away and its new claim deleted before the record said whose it is."""

    async def never(*_: Any) -> None:
        """As if killed before it was written down."""

    async with running(client, everything(directory)):
        await eventually(lambda: client.get(STORAGE_CLASSES, "ingot-local"))
        await client.create(VOLUME_CLAIMS, a_claim(namespace, "target", storageClassName="ingot-local", **POPULATED))
        prime = await used(client, namespace, "prime")
        await release(client, namespace, "prime")
        monkeypatch.setattr(Provisioner, "_hand_over", never)
        await rebind(client, prime["spec"]["volumeName"], await client.get(VOLUME_CLAIMS, "target", namespace))
        await in_phase(client, namespace, "target")
        await in_phase(client, namespace, "prime", "Lost")
    await client.delete(VOLUME_CLAIMS, "prime", namespace)
    await client.delete(VOLUME_CLAIMS, "target", namespace)
    record = LocalVolumes(directory).record(prime["spec"]["volumeName"])
    assert record is not None
    assert record.claim == "prime"
    monkeypatch.undo()
    async with running(client, everything(directory)):
        await eventually(lambda: nothing_left(client, directory))


@pytest.mark.usefixtures("node")
async def test_files_of_a_claim_that_has_them_stay_though_their_object_was_taken_away(
    client: Client, namespace: str, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: Any) -> None:
        """As if killed before it was written down."""

    async with running(client, everything(directory)):
        await eventually(lambda: client.get(STORAGE_CLASSES, "ingot-local"))
        await client.create(VOLUME_CLAIMS, a_claim(namespace, "target", storageClassName="ingot-local", **POPULATED))
        prime = await used(client, namespace, "prime")
        name = prime["spec"]["volumeName"]
        await release(client, namespace, "prime")
        monkeypatch.setattr(Provisioner, "_hand_over", never)
        await rebind(client, name, await client.get(VOLUME_CLAIMS, "target", namespace))
        await in_phase(client, namespace, "target")
    await client.delete(VOLUME_CLAIMS, "prime", namespace)
    await client.delete(VOLUMES, name)
    await client.patch(VOLUMES, name, {"metadata": {"finalizers": None}})
    async with running(client, everything(directory)):
        await in_phase(client, namespace, "target", "Lost")
        await used(client, namespace, "next")
        assert prime["path"].is_dir()
        await release(client, namespace, "next")
        for claim in ("next", "target"):
            await client.delete(VOLUME_CLAIMS, claim, namespace)
        await eventually(lambda: nothing_left(client, directory))


async def test_the_node_tells_whether_copies_share_blocks(client: Client, directory: Path) -> None:
    async with running(client, everything(directory)):
        await client.create(NODES, a_node("here"))

        async def told() -> str:
            annotations = (await client.get(NODES, "here"))["metadata"].get("annotations") or {}
            return str(annotations.get(SHARES_BLOCKS, ""))

        expected = "true" if LocalVolumes(directory).shares_blocks else "false"
        assert await eventually(told) == expected
        await client.delete(NODES, "here")
