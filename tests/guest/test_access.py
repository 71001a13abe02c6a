"""Who may use storage at the same time, however it is reached (B4): machines run, or wait and start by themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from guest import lab as living
from guest import manifests
from guest.disks import content, data_disk
from guest.lab import Lab
from guest.servers.server import HOST
from guest.servers.storage_daemon import StorageDaemon
from guest.servers.tgt import Tgt
from guest.sources import Servers
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import EVENTS, MACHINES, NODES
from ingot.disks.access import OUT_OF_SERVICE, AccessMode, Claims
from ingot.disks.place import Place
from ingot.disks.resolve import resolve
from ingot.kube.client import Client

pytestmark = pytest.mark.timeout(200)

ELSEWHERE = "elsewhere"


class Bench:
    """A namespace with machines of one disk each, named after how they reach it."""

    def __init__(self, lab: Lab, client: Client, namespace: str) -> None:
        self.lab, self.client, self.namespace = lab, client, namespace
        self.directory = lab.home / namespace
        self.directory.mkdir()
        self.directory.chmod(0o755)

    def disk(self, name: str = "disk.img") -> Path:
        data_disk(self.directory / name, content(name))
        return self.directory / name

    async def start(self, name: str, **volume: Any) -> Object:
        machine = manifests.still(self.namespace, name, [{"name": "data", "disk": {}}], [{"name": "data", **volume}])
        return await self.client.create(MACHINES, machine)

    async def run(self, name: str, **volume: Any) -> Object:
        machine = await self.start(name, **volume)
        await living.running(self.client, machine)
        return machine

    async def waits(self, machine: Object, *others: str) -> str:
        """Waits until a machine says in its condition that it waits for one of the others, and in an event; whom."""
        found: list[str] = []

        async def look() -> str | None:
            found[:] = [await living.refused(self.client, machine, "StorageInUse")]
            return next(
                (each for each in others if f"VirtualMachineInstance {self.namespace}/{each} " in found[0]), None
            )

        other = await living.eventually(look, lambda: found)
        instance = await living.instance_of(self.client, machine)
        assert instance
        selector = f"involvedObject.uid={uid_of(instance)},type=Warning,reason=StorageInUse"

        async def told() -> bool:
            events = await self.client.list(EVENTS, self.namespace, field_selector=selector)
            return found[0] in [event["message"] for event in events["items"]]

        await living.eventually(told, lambda: f"no event tells: {found}", 10)
        return other

    async def end(self, *machines: Object) -> None:
        for machine in machines:
            await living.deleted(self.client, machine)


@pytest.fixture
async def bench(lab: Lab, client: Client) -> Bench:
    made = Bench(lab, client, f"access-{uuid4().hex[:6]}")
    await client.create(manifests.resource_of(manifests.namespace("")), manifests.namespace(made.namespace))
    return made


def host_disk(path: Path) -> Object:
    return {"hostDisk": {"path": str(path), "type": "Disk"}}


async def test_one_storage_has_one_user_however_it_is_reached(bench: Bench, client: Client, servers: Servers) -> None:
    file = bench.disk()
    server = servers.start(Tgt([("lun", bench.disk("lun"))]))
    where: Object = {"targetPortal": server.portal, "iqn": server.iqn, "lun": server.lun("lun")}
    local = {
        "local": {"path": str(file.parent / "volume")},
        "nodeAffinity": manifests.on_node(await living.node_name(client)),
    }
    # A claim holds a disk.img alone.
    (file.parent / "volume").mkdir(mode=0o755)
    file = file.rename(file.parent / "volume" / "disk.img")
    claims = manifests.bound_claim(bench.namespace, "local", "Filesystem", **local)
    claims += manifests.bound_claim(bench.namespace, "lun", "Block", iscsi=where)
    for each in claims:
        await client.create(manifests.resource_of(each), each)
    uri = f"iscsi://{server.portal}/{server.iqn}/{server.lun('lun')}"

    path = await bench.run("by-path", **host_disk(file))
    direct = await bench.run("by-iscsi", iscsi=where)
    claim = await bench.start("by-claim", persistentVolumeClaim={"claimName": "local"})
    rivals = {
        "by-uri": await bench.start("by-uri", networkVolume={"uri": uri, "format": "raw", "readOnly": False}),
        "by-lun-claim": await bench.start("by-lun-claim", persistentVolumeClaim={"claimName": "lun"}),
    }
    await bench.waits(claim, "by-path")
    for rival in rivals.values():
        await bench.waits(rival, "by-iscsi")

    await bench.end(path, direct)
    await living.running(client, claim)
    winner = await first_running(client, list(rivals.values()))
    (loser,) = [rival for rival in rivals.values() if name_of(rival) != name_of(winner)]
    await bench.waits(loser, name_of(winner))
    await bench.end(winner)
    await living.running(client, loser)
    await bench.end(claim, loser)


async def first_running(client: Client, machines: list[Object]) -> Object:
    async def look() -> Object | None:
        for machine in machines:
            instance = await living.instance_of(client, machine)
            if ((instance or {}).get("status") or {}).get("phase") == "Running":
                return machine
        return None

    return await living.eventually(look, lambda: "none of them runs")


async def test_those_who_share_run_together(bench: Bench, client: Client) -> None:
    library, cluster = host_disk(bench.disk("library")), host_disk(bench.disk("cluster"))
    readers = [await bench.start(f"reader-{n}", accessMode="read-shared", **library) for n in range(2)]
    writers = [await bench.start(f"writer-{n}", accessMode="write-shared", **cluster) for n in range(2)]
    for machine in (*readers, *writers):
        await living.running(client, machine)
    alone = await bench.start("alone", **cluster)
    late = await bench.start("late-writer", accessMode="write-shared", **library)
    await bench.waits(alone, "writer-0", "writer-1")
    await bench.waits(late, "reader-0", "reader-1")
    await bench.end(alone, late, *readers, *writers)


async def test_what_a_node_holds_is_free_when_the_node_is_certainly_gone(
    bench: Bench, client: Client, servers: Servers
) -> None:
    server = servers.start(StorageDaemon({"disk": bench.disk()}))
    volume = {"nbd": {"host": HOST, "port": server.port, "export": "disk"}}
    # It has not said for long that it lives, which does not mean that its guests do not.
    silent = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
    node = {"metadata": {"name": ELSEWHERE}, "spec": {"unschedulable": True}, "status": {"conditions": [silent]}}
    await client.create(NODES, {"apiVersion": "v1", "kind": "Node", **node})
    try:
        holder: Object = {"metadata": {"namespace": bench.namespace, "name": "far", "uid": str(uuid4())}}
        # Of a server on loopback every node has its own: this is to be the same one.
        place = Place(bench.namespace, await living.node_name(client), "", bench.directory, bench.directory)
        endpoint = await resolve({"name": "data", **volume}, holder, place, client)
        claims = Claims(client, ELSEWHERE)
        await claims.claim(holder, "data", endpoint.identities, AccessMode.WRITE_EXCLUSIVE)

        machine = await bench.start("near", **volume)
        await bench.waits(machine, "far")
        assert ELSEWHERE in await living.refused(client, machine, "StorageInUse")
        taint = {"key": OUT_OF_SERVICE, "value": "nodeshutdown", "effect": "NoExecute"}
        await client.patch(NODES, ELSEWHERE, {"spec": {"taints": [taint]}})
        await living.running(client, machine)
        assert await claims.held_by(holder["metadata"]["uid"]) == {}
        await bench.end(machine)
    finally:
        await client.delete(NODES, ELSEWHERE)
