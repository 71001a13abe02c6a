"""What one guest can have beside the sources of the matrix: every bus, disks made for it, the order of boot."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4
from xml.etree import ElementTree

import pytest

from guest import lab as living
from guest import manifests, parts
from guest.console import Console
from guest.disks import FILE, MIB, cdrom, content, data_disk
from guest.image.build import GuestImage
from guest.image.kernel import GENERIC
from guest.lab import Lab
from ingot.api.object import Object
from ingot.kube.client import Client
from ingot.node.domain.document import domain_name

NEW_SIZE, EMPTY_SIZE = 4 * MIB, 8 * MIB
USER_DATA = "#cloud-config\nssh_authorized_keys: [ssh-ed25519 AAAAC3 someone]\n"
WRITTEN = "written-by-the-guest"


@pytest.fixture
def place(lab: Lab) -> Iterator[Path]:
    """A directory for what is behind the disks."""
    directory = lab.home / f"devices-{uuid4().hex[:6]}"
    directory.mkdir()
    directory.chmod(0o755)
    yield directory
    shutil.rmtree(directory)


def host_disk(path: Path) -> Object:
    return {"hostDisk": {"path": str(path), "type": "Disk"}}


@pytest.mark.timeout(200)
async def test_every_bus_made_disks_and_the_order_of_boot(lab: Lab, client: Client, place: Path) -> None:
    # Only this kernel has drivers for SATA and USB, and it tells which of two systems was booted.
    shutil.copy(GuestImage.build(GENERIC), place / "generic.img")
    buses = ("virtio", "scsi", "sata", "usb")
    digests = {f"disk-{bus}": data_disk(place / bus, content(bus)) for bus in buses}
    digests |= {f"cd-{bus}": cdrom(place / f"cd-{bus}", content(f"cd {bus}"), f"cd-{bus}") for bus in ("sata", "scsi")}
    machine = machine_of(lab, place, buses)
    async with living.created(client, machine) as made:
        instance = await living.running(client, made)
        check_xml(parts.virsh(lab, "dumpxml", domain_name(instance)))
        async with living.console_of(client, instance) as console:
            await console.ready()
            assert "cloud" not in await console.run("uname -r"), "the disk that comes second was booted first"
            for serial, digest in digests.items():
                assert await console.run(f"digest {serial} {FILE}") == digest, serial
            await check_seed(console)
            assert await size(console, "new") == NEW_SIZE
            assert await size(console, "empty") == EMPTY_SIZE
            for serial in ("new", "empty"):
                await console.run(f"echo {WRITTEN} | dd of=$(disk {serial}) conv=fsync 2>/dev/null")
                written = f"dd if=$(disk {serial}) bs=512 count=1 iflag=direct 2>/dev/null | head -n 1"
                assert await console.run(written) == WRITTEN
    new = (place / "new.img").read_bytes()
    assert len(new) == NEW_SIZE
    assert new.startswith(WRITTEN.encode())


def machine_of(lab: Lab, place: Path, buses: tuple[str, ...]) -> Object:
    """A machine with a disk on each bus, whose second bootable disk is to be booted from."""
    disks: list[Object] = [
        {"name": "other-boot", "bootOrder": 2, "disk": {"bus": "virtio", "readonly": True}},
        *({"name": bus, "serial": f"disk-{bus}", "disk": {"bus": bus}} for bus in buses),
        {"name": "cd-sata", "cdrom": {"bus": "sata"}},
        {"name": "cd-scsi", "cdrom": {"bus": "scsi"}},
        {"name": "seed", "cdrom": {"bus": "scsi"}},
        {"name": "new", "serial": "new", "shareable": True, "disk": {"bus": "virtio"}},
        {"name": "empty", "serial": "empty", "cache": "none", "io": "native", "errorPolicy": "stop", "disk": {}},
    ]
    volumes: list[Object] = [
        {"name": "other-boot", "copy": {"mode": "copy-on-write"}, **host_disk(lab.boot)},
        *({"name": bus, **host_disk(place / bus)} for bus in buses),
        {"name": "cd-sata", **host_disk(place / "cd-sata")},
        {"name": "cd-scsi", **host_disk(place / "cd-scsi")},
        {"name": "seed", "cloudInitNoCloud": {"userData": USER_DATA}},
        {
            "name": "new",
            "hostDisk": {"path": str(place / "new.img"), "type": "DiskOrCreate", "capacity": str(NEW_SIZE)},
        },
        {"name": "empty", "emptyDisk": {"capacity": str(EMPTY_SIZE)}},
    ]
    machine = manifests.machine("default", place.name, place / "generic.img", disks, volumes)
    # The disk that comes first in the manifest, and on the bus, is not the first of the order of boot.
    listed = machine["spec"]["template"]["spec"]["domain"]["devices"]["disks"]
    listed.insert(1, listed.pop(0))
    return machine


def check_xml(lines: list[str]) -> None:
    """What no guest can tell: it is in the domain that runs."""
    disks = {disk.findtext("serial"): disk for disk in ElementTree.fromstring("\n".join(lines)).iter("disk")}
    new, empty = disks["new"], disks["empty"]
    assert new.find("shareable") is not None
    assert empty.find("shareable") is None
    driver = empty.find("driver")
    assert driver is not None
    wanted = {"cache": "none", "io": "native", "error_policy": "stop"}
    assert {name: driver.get(name) for name in wanted} == wanted
    for bus in ("virtio", "scsi", "sata", "usb"):
        target = disks[f"disk-{bus}"].find("target")
        assert target is not None
        assert target.get("bus") == bus


async def check_seed(console: Console) -> None:
    """cloud-init finds its data by the label of the medium, and in these files."""
    assert await console.run("mountdisk cidata && cat /mnt/cidata/user-data") == USER_DATA.strip()
    assert "instance-id" in await console.run("cat /mnt/cidata/meta-data; umount /mnt/cidata")


async def size(console: Console, serial: str) -> int:
    device = await console.run(f"disk {serial}")
    return 512 * int(await console.run(f"cat /sys/block/{device.removeprefix('/dev/')}/size"))
