"""Guests boot from volumes that were made for them: imported by their own templates (R7), or published to all (N5)."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from guest import lab as living
from guest.image.build import READY, GuestImage
from guest.lab import node_name
from images.servers.registry import DockerRegistry
from ingot.api.object import Object, uid_of
from ingot.api.resources import DATA_VOLUMES, MACHINES, VOLUME_CLAIMS
from ingot.images.reference import Reference
from ingot.kube.client import Client
from ingot_up import IngotUp
from kube.server import INGOT
from volumes.conftest import push
from volumes.shelf import Shelf, ingot
from volumes.wares import Wares


@pytest.fixture(scope="module")
def guest_disk(wares: Wares) -> Path:
    """The guest image, as a file of its own."""
    if lacking := GuestImage.why_not():
        pytest.skip(lacking)
    if missing := [program for program in ("libvirtd", "qemu-system-x86_64") if not shutil.which(program)]:
        pytest.skip(f"no {', '.join(missing)}: run `make setup`")
    return Path(shutil.copy(GuestImage.build(), wares.directory / "guest.img"))


@pytest.fixture
def pushed(registry: DockerRegistry, guest_disk: Path) -> str:
    """The URL of the guest image in a real registry."""
    reference = Reference.parse(f"{registry.host}/test/guest:v1")
    push(guest_disk, reference)
    return f"docker://{reference}"


def machine(name: str, url: str) -> Object:
    """The spec of a machine with one disk, which is imported, with room for what the guest writes."""
    storage = {"resources": {"requests": {"storage": "64Mi"}}}
    template = {
        "metadata": {"name": f"{name}-root"},
        "spec": {"source": {"registry": {"url": url}}, "storage": storage},
    }
    disks = [{"name": "root", "serial": "root", "disk": {"bus": "virtio"}}]
    domain = {"memory": {"guest": "160Mi"}, "devices": {"disks": disks}}
    volumes = [{"name": "root", "dataVolume": {"name": f"{name}-root"}}]
    inner = {"terminationGracePeriodSeconds": 0, "domain": domain, "volumes": volumes}
    return {"runStrategy": "Always", "dataVolumeTemplates": [template], "template": {"spec": inner}}


async def console(server: IngotUp, namespace: str, name: str) -> str:
    """What a guest has said until it was ready."""
    words = ["vm", "console", name, "-n", namespace, "--wait", "--until", READY, "--timeout", "120s"]
    command = [*INGOT, *words, "--kubeconfig", str(server.kubeconfig)]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.DEVNULL, stdout=pipe)
    said, _ = await process.communicate()
    return said.decode(errors="replace")


async def told(client: Client, machine: Object, command: str) -> tuple[str, str]:
    """The uid of the machine's instance, and what the command prints in its guest."""
    instance = await living.running(client, machine, 120)
    async with living.console_of(client, instance) as console:
        await console.ready(120)
        return uid_of(instance), await console.run(command)


async def uids(shelf: Shelf, name: str) -> list[str]:
    """Which DataVolume and claim are of that name now."""
    return [uid_of(await shelf.client.get(kind, name, shelf.namespace)) for kind in (DATA_VOLUMES, VOLUME_CLAIMS)]


@pytest.mark.timeout(240)
async def test_a_guest_keeps_what_it_writes_to_the_image_that_its_template_imports(
    shelf: Shelf, client: Client, whole: IngotUp, pushed: str
) -> None:
    """R7: the first start writes the registry's image to a claim, later ones use that; it goes with the machine."""
    await node_name(client)
    made = await shelf.create(MACHINES, "imported", machine("imported", pushed))
    first, _ = await told(client, made, "echo kept | dd of=$(disk root) bs=512 seek=100000 conv=sync,fsync")
    volume = await uids(shelf, "imported-root")
    await ingot(whole, "vm", "restart", "imported", "--force", "--wait", "--timeout", "120s", "-n", shelf.namespace)
    later, said = await told(client, made, "dd if=$(disk root) bs=512 skip=100000 count=1 2>/dev/null | tr -d '\\0'")
    assert (said, later != first) == ("kept", True)
    assert await uids(shelf, "imported-root") == volume
    await ingot(whole, "vm", "rm", "imported", "--force", "-n", shelf.namespace)
    await shelf.nothing_left()
    assert (await client.list(DATA_VOLUMES, shelf.namespace))["items"] == []


@pytest.mark.timeout(240)
@pytest.mark.usefixtures("guest_disk")
async def test_a_guest_starts_with_a_disk_of_a_size_in_thousands(shelf: Shelf, client: Client, whole: IngotUp) -> None:
    """100M and 1G are no whole blocks: QEMU writes to whole ones only."""
    await node_name(client)
    await ingot(whole, "volume", "blank", "data", "--size", "100M", "-n", shelf.namespace)
    assert ((await shelf.place("data")) / "disk.img").stat().st_size == 99_999_744
    words = ["--name", "thousands", "--memory", "64Mi", "--wait", "--timeout", "120s", "-n", shelf.namespace]
    await ingot(whole, "vm", "run", "pvc:data", *words)
    await ingot(whole, "vm", "rm", "thousands", "--force", "-n", shelf.namespace)


@pytest.mark.timeout(240)
@pytest.mark.usefixtures("guest_disk")
async def test_the_disk_of_a_running_machine_is_not_removed_by_oversight(
    shelf: Shelf, client: Client, whole: IngotUp
) -> None:
    """Who uses it is named before anything is lost, and while it is waited for."""

    async def run(*words: str, code: int = 0) -> str:
        return await ingot(whole, *words, "-n", shelf.namespace, code=code)

    await node_name(client)
    await run("volume", "blank", "disk", "--size", "8Mi")
    await run("vm", "run", "pvc:disk", "--name", "user", "--memory", "64Mi", "--wait", "--timeout", "120s")
    refused = await run("volume", "rm", "disk", code=1)
    assert 'disk is used by VirtualMachine "user", VirtualMachineInstance "user"' in refused
    assert "`ingot vm rm user`; or use --force" in refused
    assert "deletionTimestamp" not in (await shelf.get("disk"))["metadata"]
    forced = await run("volume", "rm", "disk", "--force", "--timeout", "1s", code=1)
    assert 'kept until VirtualMachineInstance "user" has ended' in forced
    await run("vm", "rm", "user", "--force")
    await shelf.nothing_left()


@pytest.mark.timeout(240)
async def test_two_guests_boot_at_once_from_one_iso_that_was_published(
    shelf: Shelf, client: Client, whole: IngotUp, guest_disk: Path
) -> None:
    """N5: published once, it is in the drives of several machines of another namespace, who share one volume of it."""
    await node_name(client)
    iso = Path(shutil.copy(guest_disk, guest_disk.with_name("rescue.iso")))
    assert "--cdrom golden:rescue" in await ingot(whole, "golden", "publish", str(iso))
    words = ["--cdrom", "golden:rescue", "--memory", "128Mi", "-n", shelf.namespace]
    for name in ("one", "two"):
        await ingot(whole, "vm", "run", "empty:16Mi", "--name", name, *words)
    said = await asyncio.gather(*(console(whole, shelf.namespace, name) for name in ("one", "two")))
    assert [READY in each for each in said] == [True, True]
    (shared,) = (await client.list(DATA_VOLUMES, shelf.namespace))["items"]
    assert [each["name"] for each in shared["metadata"]["ownerReferences"]] == ["one", "two"]
    listed = await ingot(whole, "golden", "history", "rescue")
    assert f"{shelf.namespace}/one, {shelf.namespace}/two" in listed
    await ingot(whole, "vm", "rm", "one", "--force", "-n", shelf.namespace)
    assert (await shelf.get(shared["metadata"]["name"]))["status"]["phase"] == "Succeeded"
    await ingot(whole, "vm", "rm", "two", "--force", "-n", shelf.namespace)
    await shelf.nothing_left()
    assert "rescue removed" in await ingot(whole, "golden", "rm", "rescue")
