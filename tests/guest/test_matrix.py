"""Every source with every copy mode, on every kind of device, in guests that mount the disks and check digests."""

from __future__ import annotations

import subprocess
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from guest import lab as living
from guest import manifests
from guest.console import Console
from guest.disks import FILE, file_on, md5
from guest.lab import Lab
from guest.sources import SOURCES, GlusterFile, Images, Iscsi, Servers, Source
from ingot.api.kubevirt.names import SYSTEM_NAMESPACE
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import LEASES, PODS
from ingot.kube.client import Client

WRITTEN = "written by the guest"


@dataclass(frozen=True)
class Device:
    """A disk of the guest: which image it leads to, through which copy, as what the guest sees it."""

    name: str
    image: str
    mode: str
    target: Object
    # Whether the guest has a driver for it: this one has none for sata, others do (test_devices.py).
    seen: bool = True

    def serial(self, mark: str) -> str:
        """A lun shows the number of the target itself, which is the image's name."""
        return self.image if "lun" in self.target else f"{self.name}-{mark}"

    def manifest(self, mark: str) -> Object:
        serial = {} if "lun" in self.target else {"serial": self.serial(mark)}
        return {"name": self.name, **serial, **self.target}

    @property
    def is_writable(self) -> bool:
        return "cdrom" not in self.target and not self.target.get("disk", {}).get("readonly")


def devices(source: Source) -> list[Device]:
    """What the guest has of a source: each copy mode, each kind of device, each bus."""
    own = {"disk": {"bus": "virtio"}} if source.writable else {"disk": {"bus": "virtio", "readonly": True}}
    if isinstance(source, Iscsi):
        # Only a real SCSI device can be a lun.
        own = {"lun": {"bus": "scsi"}}
    others = [
        Device("cd", "cd", "none", {"cdrom": {"bus": "scsi"}}),
        Device("sata", "cd", "none", {"cdrom": {"bus": "sata"}}, seen=False),
        Device("copy", "shared", "copy-on-write", {"disk": {"bus": "sata"}}, seen=False),
    ]
    return [
        Device("none", "own", "none", own),
        Device("cow", "shared", "copy-on-write", {"disk": {"bus": "virtio"}}),
        Device("cor", "shared", "copy-on-read", {"disk": {"bus": "scsi"}}),
        Device("clone", "shared", "clone", {"disk": {"bus": "virtio"}}),
        # Gluster's library takes ten seconds to close a file: what shows nothing more of it is left out.
        *([] if isinstance(source, GlusterFile) else others),
    ]


@pytest.mark.timeout(360)
@pytest.mark.parametrize("kind", SOURCES)
async def test_source_with_every_copy_mode(
    kind: str, lab: Lab, client: Client, servers: Servers, tmp_path: Path
) -> None:
    mark = uuid4().hex[:6]
    namespace = f"{kind}-{mark}"
    with ExitStack() as stack:
        images = Images(lab.home / namespace, mark)
        source = SOURCES[kind](images, namespace)
        node = await living.node_name(client)
        before = residue(lab)
        for each in [manifests.namespace(namespace), *source.start(stack, servers, node)]:
            await client.create(manifests.resource_of(each), each)
        async with living.created(client, machine_of(lab, source, mark)) as machine:
            instance = await living.running(client, machine, 240)
            async with living.console_of(client, instance) as console:
                await console.ready()
                await check_guest(console, source, mark)
            check_processes(lab, source, mark)
        await check_nothing_left(lab, client, before, instance, mark)
        check_images(source, tmp_path)


def machine_of(lab: Lab, source: Source, mark: str) -> Object:
    """A machine with all devices of a source."""
    disks, volumes = [], []
    for device in devices(source):
        disks.append(device.manifest(mark))
        volumes.append({"name": device.name, "copy": {"mode": device.mode}, **source.volume(device.image)})
    return manifests.machine(source.namespace, f"vm-{mark}", lab.boot, disks, volumes)


async def check_guest(console: Console, source: Source, mark: str) -> None:
    """Every disk is there, has its file, and can be written to if it may."""
    for device in devices(source):
        if not device.seen:
            continue
        serial = device.serial(mark)
        assert await console.run(f"digest {serial} {FILE}") == source.images.digests[device.image], device
        if device.is_writable:
            write = f"mountdisk {serial} && echo {WRITTEN} >/mnt/{serial}/note && umount /mnt/{serial}"
            await console.run(write)


def check_processes(lab: Lab, source: Source, mark: str) -> None:
    """QEMU has every device, and nobody tells a secret in what he is called with or what he logs."""
    (qemu,) = [command for _, command in lab.processes(f"cow-{mark}") if "qemu-system" in command[0]]
    for device in devices(source):
        assert any(f"ua-{device.name}" in word for word in qemu), device
    commands = [word for _, command in lab.processes() for word in command] + qemu
    for secret in source.secrets:
        assert not any(secret in word for word in commands)
        for log in lab.directory.rglob("*.log"):
            assert secret not in log.read_text(errors="replace"), log


def check_images(source: Source, scratch: Path) -> None:
    """What was written to the source is there; what was written to copies is not."""
    for image, digest in source.images.digests.items():
        found = scratch / image
        source.read(image, found)
        if image == "cd":
            continue
        assert md5(file_on(found)) == digest
        notes = file_on(found, "note").decode()
        assert notes == (f"{WRITTEN}\n" if image == "own" and source.writable else ""), image


def residue(lab: Lab) -> set[str]:
    """What machines leave traces in: processes, mounts, files of the node, loop devices."""
    mounts = {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()}
    kept = [lab.directory / "node" / "machines", lab.directory / "node" / "pools", lab.directory / "kubelet" / "pods"]
    files = {str(path) for place in kept if place.is_dir() for path in place.rglob("*")}
    secrets = {str(path) for path in (lab.directory / "node").rglob("secrets/*")}
    processes = {f"{pid} {' '.join(command)}" for pid, command in lab.processes()}
    loops = subprocess.run(["losetup", "--list", "--noheadings", "--output", "name,back-file"], capture_output=True)
    devices = {line for line in loops.stdout.decode().splitlines() if str(lab.directory) in line}
    return {mount for mount in mounts if str(lab.directory) in mount} | files | secrets | processes | devices


async def check_nothing_left(lab: Lab, client: Client, before: set[str], instance: Object, mark: str) -> None:
    """Nothing that came with the machine is there any more: what ends by itself gets a moment."""
    left: list[object] = []

    async def clear() -> bool:
        leases = await client.list(LEASES, SYSTEM_NAMESPACE)
        held = [lease for lease in leases["items"] if uid_of(instance) in str(lease)]
        guests = lab.processes(f"cow-{mark}")
        remaining = await client.list(PODS, instance["metadata"]["namespace"])
        left[:] = [*sorted(residue(lab) - before), *held, *guests, *(name_of(pod) for pod in remaining["items"])]
        return not left

    await living.eventually(clear, lambda: left, 30)
