"""Machines that are to start while a snapshot of them is being made, on a real API server (F5)."""

import asyncio
from typing import Any

import pytest

from control.storage_world import at_work
from control.world import World, instance, machine
from eventual import eventually
from ingot.api.object import Object, uid_of
from ingot.api.resources import INSTANCES, MACHINE_SNAPSHOTS, MACHINES, SNAPSHOTS
from ingot.control.machine import Machines
from ingot.control.snapshots.content import SnapshotContents
from ingot.control.snapshots.snapshot import MachineSnapshots
from ingot.control.snapshots.words import ONLINE
from ingot.kube.client import Client
from ingot.kube.objects import condition

# More than the controllers need for a start that nothing holds up.
ROUND_TRIPS = 30


class Late(Client):
    """A client that gets no list of snapshots before they `come`."""

    def __init__(self, client: Client) -> None:
        super().__init__(client.transport)
        self.come = asyncio.Event()

    async def call(self, method: str, path: str, *arguments: Any, **more: Any) -> Object:
        if method == "GET" and path.endswith(f"/{MACHINE_SNAPSHOTS.plural}"):
            await self.come.wait()
        return await super().call(method, path, *arguments, **more)


async def asked(world: World) -> Object:
    source = {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "vm"}
    return await world.create(MACHINE_SNAPSHOTS, {"metadata": {"name": "snap"}, "spec": {"source": source}})


@pytest.fixture
async def held(bare: World) -> World:
    """A machine that is to run, and a snapshot that is being made of it."""
    await bare.create(MACHINES, machine("vm", "Always"))
    await asked(bare)
    await bare.write(MACHINES, "vm", {"snapshotInProgress": "snap"})
    return bare


async def waits(world: World) -> None:
    told = await world.until(MACHINES, "vm", lambda each: condition(each, "Failure"))
    assert (condition(told, "Failure") or {})["reason"] == "SnapshotInProgress"
    assert await world.is_gone(INSTANCES, "vm")


async def test_no_machine_starts_before_its_snapshot_is_known(held: World) -> None:
    late = Late(held.client)
    async with at_work(World(late, held.namespace, held.clock), Machines):
        for _ in range(ROUND_TRIPS):
            assert await held.is_gone(INSTANCES, "vm")
        late.come.set()
        await waits(held)


async def test_a_machine_whose_snapshot_goes_without_its_controller_starts(held: World) -> None:
    async with at_work(held, Machines):
        await waits(held)
        await held.client.delete(MACHINE_SNAPSHOTS, "snap", held.namespace)
        await eventually(lambda: held.get(INSTANCES, "vm"))


async def test_a_machine_whose_guest_turns_out_to_have_run_starts(held: World) -> None:
    async with at_work(held, Machines):
        await waits(held)
        await held.write(MACHINE_SNAPSHOTS, "snap", {"indications": [ONLINE]})
        await eventually(lambda: held.get(INSTANCES, "vm"))


async def test_a_start_that_was_under_way_has_the_snapshot_made_anew_as_of_a_machine_that_runs(bare: World) -> None:
    async with at_work(bare, Machines, MachineSnapshots, SnapshotContents) as lab:
        data = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
        await lab.claim("data")
        await lab.create(MACHINES, machine("vm", "Manual", data))
        name = f"vmsnapshot-{uid_of(await asked(lab))}-volume-data"
        former = await eventually(lambda: lab.get(SNAPSHOTS, name))
        await lab.create(INSTANCES, instance("vm", data))
        await lab.snapshotted(name)

        async def is_another() -> bool:
            return uid_of(await lab.get(SNAPSHOTS, name)) != uid_of(former)

        await eventually(is_another)
        await lab.snapshotted(name)
        done = await lab.until(MACHINE_SNAPSHOTS, "snap", lambda each: each["status"]["phase"] == "Succeeded")
        assert ONLINE in done["status"]["indications"]
