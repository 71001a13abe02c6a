"""Guests that use one storage at the same time (B4): what one writes the other reads, and nobody else gets it."""

from __future__ import annotations

from contextlib import AsyncExitStack, ExitStack
from uuid import uuid4

import pytest

from guest import lab as living
from guest import manifests
from guest.console import Console, GuestCommandFailed
from guest.disks import FILE
from guest.lab import Lab
from guest.sources import SOURCES, Images, Servers, Source
from ingot.api.object import Object, name_of
from ingot.api.resources import MACHINES
from ingot.kube.client import Client

KINDS = ("file", "nbd", "iscsi", "rbd")
# One block in the middle of the disk, of which nobody keeps a copy in memory.
BLOCK = "bs=4096 count=1"
WRITE = "yes {text} | head -c 4096 >/tmp/block && dd if=/tmp/block of=$(disk {serial}) {block} seek={at} oflag=direct"
READ = "dd if=$(disk {serial}) {block} skip={at} iflag=direct 2>/dev/null | head -n 1"


class Sharers:
    """Two machines with the same disks of each kind: `own` for both to write to, `shared` for both to read."""

    def __init__(self, lab: Lab, sources: dict[str, Source], namespace: str) -> None:
        self.lab, self.sources, self.namespace = lab, sources, namespace

    def machine(self, name: str) -> Object:
        disks: list[Object] = []
        volumes: list[Object] = []
        for kind, source in self.sources.items():
            for image, mode in (("own", "write-shared"), ("shared", "read-shared")):
                disks.append({"name": f"{kind}-{image}", "serial": f"{kind}-{image}", "disk": {"bus": "virtio"}})
                volumes.append({"name": f"{kind}-{image}", "accessMode": mode, **source.volume(image)})
        return manifests.machine(self.namespace, name, self.lab.boot, disks, volumes)

    def loner(self, kind: str, image: str) -> Object:
        """A machine that wants one of the disks for itself."""
        volume = {"name": "data", **self.sources[kind].volume(image)}
        return manifests.still(self.namespace, f"alone-{kind}-{image}", [{"name": "data", "disk": {}}], [volume])


@pytest.mark.timeout(300)
async def test_two_guests_share_what_they_may(lab: Lab, client: Client, servers: Servers) -> None:
    mark = uuid4().hex[:6]
    namespace = f"sharing-{mark}"
    await client.create(manifests.resource_of(manifests.namespace("")), manifests.namespace(namespace))
    async with AsyncExitStack() as stack:
        started = stack.enter_context(ExitStack())
        sharers = Sharers(lab, {}, namespace)
        for kind in KINDS:
            source = SOURCES[kind](Images(lab.home / f"{kind}-{mark}", f"{kind}{mark}"), namespace)
            sharers.sources[kind] = source
            for each in source.start(started, servers, await living.node_name(client)):
                await client.create(manifests.resource_of(each), each)
        consoles = []
        for name in ("one", "two"):
            made = await stack.enter_async_context(living.created(client, sharers.machine(name)))
            instance = await living.running(client, made)
            consoles.append(await stack.enter_async_context(living.console_of(client, instance)))
        for console in consoles:
            await console.ready()
        for kind in KINDS:
            await check_reading(sharers.sources[kind], kind, consoles)
            await check_writing(kind, *consoles)
        await check_others_wait(client, sharers)


async def check_reading(source: Source, kind: str, consoles: list[Console]) -> None:
    """Both read what is there, and neither can change it."""
    serial = f"{kind}-shared"
    for console in consoles:
        assert await console.run(f"digest {serial} {FILE}") == source.images.digests["shared"], kind
        with pytest.raises(GuestCommandFailed):
            await console.run(WRITE.format(text="no", serial=serial, block=BLOCK, at=0))


async def check_writing(kind: str, one: Console, two: Console) -> None:
    """What either writes the other finds, though it has read the place before."""
    serial = f"{kind}-own"
    for number, (writer, reader) in enumerate([(one, two), (two, one)]):
        where = {"serial": serial, "block": BLOCK, "at": 1024}
        before = await reader.run(READ.format(**where))
        text = f"{kind}-{number}"
        assert text not in before
        await writer.run(WRITE.format(text=text, **where))
        assert await reader.run(READ.format(**where)) == text


async def check_others_wait(client: Client, sharers: Sharers) -> None:
    """Whoever wants such a disk alone is told who has it."""
    loners = [sharers.loner(kind, image) for kind in KINDS for image in ("own", "shared")]
    made = [await client.create(MACHINES, loner) for loner in loners]
    for machine in made:
        message = await living.refused(client, machine, "StorageInUse")
        assert f"VirtualMachineInstance {sharers.namespace}/" in message, name_of(machine)
    for machine in made:
        await living.deleted(client, machine)
