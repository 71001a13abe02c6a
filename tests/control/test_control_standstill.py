"""Machines whose snapshot somebody else makes wait with their start, on a real API server (F5)."""

import asyncio
from typing import Any

import pytest

from control.storage_world import at_work
from control.world import World, machine
from eventual import eventually
from ingot.api.object import Object
from ingot.api.resources import INSTANCES, MACHINE_SNAPSHOTS, MACHINES
from ingot.control.machine import Machines
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


@pytest.fixture
async def held(bare: World) -> World:
    """A machine that is to run, and a snapshot that is being made of it."""
    await bare.create(MACHINES, machine("vm", "Always"))
    source = {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "vm"}
    await bare.create(MACHINE_SNAPSHOTS, {"metadata": {"name": "snap"}, "spec": {"source": source}})
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
