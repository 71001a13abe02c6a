"""Disks that are not as they should be: what is told of each, and that the machine starts once it is put right."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from guest import lab as living
from guest import manifests
from guest.disks import MIB, content, data_disk, qcow2
from guest.lab import Lab
from guest.servers.nginx import Nginx
from guest.servers.server import HOST
from guest.servers.storage_daemon import StorageDaemon
from guest.servers.tgt import Tgt
from guest.sources import Servers
from ingot.api.object import Object
from ingot.api.resources import SECRETS
from ingot.kube.client import Client
from kube.cluster import free_ports


class Bench:
    """One namespace with a machine that has one disk, and a directory for what is behind it."""

    def __init__(self, lab: Lab, client: Client, node: str) -> None:
        self.lab, self.client, self.node = lab, client, node
        self.namespace = f"bad-{uuid4().hex[:6]}"
        self.directory = lab.home / self.namespace
        self.directory.mkdir()
        self.directory.chmod(0o755)

    async def add(self, *objects: Object) -> None:
        for each in objects:
            await self.client.create(manifests.resource_of(each), each)

    def claim(self) -> list[Object]:
        """A claim on the directory."""
        where = {"local": {"path": str(self.directory)}, "nodeAffinity": manifests.on_node(self.node)}
        return manifests.bound_claim(self.namespace, "data", "Filesystem", **where)

    @asynccontextmanager
    async def refused(self, reason: str, said: str, **volume: object) -> AsyncIterator[None]:
        """The machine is refused for the reason, in words, with an event; put right in the block, it runs after it."""
        disks = [{"name": "data", "disk": {"bus": "virtio"}}]
        machine = manifests.machine(self.namespace, "vm", self.lab.boot, disks, [{"name": "data", **volume}])
        async with living.created(self.client, machine) as made:
            message = await living.refused(self.client, made, reason)
            assert said in message
            instance = await living.instance_of(self.client, made)
            assert instance
            assert said in (await living.warning_of(self.client, instance, reason))
            yield
            await living.running(self.client, made)


@pytest.fixture
async def bench(lab: Lab, client: Client) -> Bench:
    made = Bench(lab, client, await living.node_name(client))
    await made.add(manifests.namespace(made.namespace))
    return made


CLAIM = {"persistentVolumeClaim": {"claimName": "data"}}


async def test_missing_claim(bench: Bench) -> None:
    data_disk(bench.directory / "disk.img", content("missing"))
    async with bench.refused("FailedPvcNotFound", "starts by itself once it is there", **CLAIM):
        await bench.add(*bench.claim())


def rename(source: Path, target: Path) -> None:
    """In one step, whatever the target was."""
    source.replace(target)


def two_files(directory: Path) -> Callable[[], None]:
    data_disk(directory / "disk.img", content("two"))
    other = directory / "other.img"
    other.write_bytes(b"")
    return other.unlink


def qcow2_in_place_of_raw(directory: Path) -> Callable[[], None]:
    disk, right = directory / "disk.img", directory.with_suffix(".raw")
    data_disk(right, content("format"))
    qcow2(right, disk)
    return lambda: rename(right, disk)


def link_in_place_of_file(directory: Path) -> Callable[[], None]:
    disk, right = directory / "disk.img", directory.with_suffix(".raw")
    data_disk(right, content("link"))
    disk.symlink_to(right)
    return lambda: rename(right, disk)


@pytest.mark.parametrize(
    ("spoil", "reason", "said"),
    [
        (two_files, "TooManyFiles", "'other.img'"),
        (qcow2_in_place_of_raw, "BadImage", "must be raw, and is a qcow2 image"),
        (link_in_place_of_file, "BadImage", "is a symbolic link"),
    ],
)
async def test_volume_that_holds_no_disk(
    bench: Bench, spoil: Callable[[Path], Callable[[], None]], reason: str, said: str
) -> None:
    mend = spoil(bench.directory)
    await bench.add(*bench.claim())
    async with bench.refused(reason, said, **CLAIM):
        mend()


def make_qcow2(path: Path, option: str) -> None:
    command = ["qemu-img", "create", "-q", "-f", "qcow2", "-o", option, str(path), "8M"]
    subprocess.run(command, check=True, capture_output=True)


@pytest.mark.parametrize("option", ["backing_file=/etc/passwd,backing_fmt=raw", "data_file={directory}/elsewhere"])
async def test_qcow2_that_leads_elsewhere(bench: Bench, servers: Servers, option: str, tmp_path: Path) -> None:
    image = bench.directory / "disk.qcow2"
    make_qcow2(image, option.format(directory=tmp_path))
    server = servers.start(Nginx(bench.directory, "nobody", "-"))
    volume = {"networkVolume": {"uri": f"{server.http}/disk.qcow2", "format": "qcow2"}}
    said = "backing file" if "backing" in option else "data file"
    async with bench.refused("BadImage", said, **volume):
        data_disk(tmp_path / "right", content("right"))
        qcow2(tmp_path / "right", tmp_path / "right.qcow2")
        shutil.copy(tmp_path / "right.qcow2", image)


async def test_wrong_credentials(bench: Bench, servers: Servers) -> None:
    data_disk(bench.directory / "lun", content("lun"))
    server = servers.start(Tgt([("lun", bench.directory / "lun")], "someone", "the-right-one"))
    right = manifests.secret(bench.namespace, "chap", {"username": "someone", "password": "the-right-one"})
    wrong = manifests.secret(bench.namespace, "chap", {"username": "someone", "password": "the-wrong-one"})
    await bench.add(wrong)
    where = {"targetPortal": server.portal, "iqn": server.iqn, "lun": 1, "secretRef": {"name": "chap"}}
    async with bench.refused("AccessDenied", "check the Secret", iscsi=where):
        await bench.client.replace(SECRETS, right)


async def test_unreachable_server(bench: Bench, servers: Servers) -> None:
    data_disk(bench.directory / "disk", content("late"))
    server = StorageDaemon({"disk": bench.directory / "disk"})
    (server.port,) = free_ports(1)
    async with bench.refused(
        "Unreachable", "cannot be reached", nbd={"host": HOST, "port": server.port, "export": "disk"}
    ):
        servers.start(server)


def resize(place: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(place)], check=True)


@pytest.fixture
def small(lab: Lab) -> Iterator[Path]:
    """Storage with room for less than a disk."""
    if os.geteuid() != 0:
        pytest.skip("a filesystem of its own can only be mounted by root: run the tests as root")
    resize(lab.small, "4m")
    yield lab.small
    resize(lab.small, "64m")


@pytest.mark.timeout(180)
async def test_full_pool(bench: Bench, small: Path) -> None:
    disk = bench.directory / "disk"
    data_disk(disk, content("large", 8 * MIB), 16 * MIB)
    disk.chmod(0o644)
    copy = {"mode": "clone", "usageType": "small"}
    async with bench.refused("PoolFull", "room", copy=copy, hostDisk={"path": str(disk), "type": "Disk"}):
        resize(small, "64m")


async def test_usage_type_that_nobody_offers(bench: Bench) -> None:
    disk = bench.directory / "disk"
    data_disk(disk, content("nowhere"))
    volume = {
        "name": "data",
        "copy": {"mode": "copy-on-write", "usageType": "fast"},
        "hostDisk": {"path": str(disk), "type": "Disk"},
    }
    disks = [{"name": "data", "disk": {"bus": "virtio"}}]
    machine = manifests.machine(bench.namespace, "vm", bench.lab.boot, disks, [volume])
    async with living.created(bench.client, machine) as made:
        message = await living.refused(bench.client, made, "UsageTypeNotOffered")
        assert "starts by itself once a node offers it" in message
        instance = await living.instance_of(bench.client, made)
        assert instance
        assert await living.warning_of(bench.client, instance, "UsageTypeNotOffered") == message
