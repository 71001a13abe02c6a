"""The controllers' process dies after any of its writes: the next one finishes what was begun, once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from control.clock import WorldClock
from control.dying import Dying
from control.world import World, machine
from eventual import eventually
from ingot.api.kubevirt import phase
from ingot.api.resources import INSTANCES, MACHINES, PODS, REPLICA_SETS
from ingot.control.all import add_all
from ingot.kube.client import Client
from ingot.kube.manager import Manager


@asynccontextmanager
async def controllers(client: Client) -> AsyncIterator[None]:
    manager = Manager(client)
    add_all(manager, WorldClock())
    running = asyncio.create_task(manager.run(asyncio.Event()))
    try:
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def counted(world: World, names: set[str], instances: int) -> bool:
    listed = [(await world.client.list(resource, world.namespace))["items"] for resource in (INSTANCES, PODS)]
    assert max(map(len, listed)) <= instances
    ready = {each["metadata"]["name"] for each in listed[0] if phase.phase_of(each) == phase.SCHEDULING}
    return list(map(len, listed)) == [instances, instances] and (not names or ready == names)


@pytest.mark.parametrize("writes", range(6))
async def test_a_start_that_is_broken_off_is_finished_once(bare: World, writes: int) -> None:
    await bare.create(MACHINES, machine("vm", "Once"))
    dying = Dying(bare.client, writes)
    async with controllers(dying), asyncio.timeout(10):
        await dying.died.wait()
    async with controllers(bare.client):
        await eventually(lambda: counted(bare, {"vm"}, 1))
        await bare.printed("vm", "Starting")


@pytest.mark.parametrize("writes", range(5))
async def test_replicas_are_not_made_twice(bare: World, writes: int) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, **machine("x", "Once")["spec"]["template"]}
    spec = {"replicas": 3, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    await bare.create(REPLICA_SETS, {"metadata": {"name": "set"}, "spec": spec})
    dying = Dying(bare.client, writes)
    async with controllers(dying), asyncio.timeout(10):
        await dying.died.wait()
    async with controllers(bare.client):
        await eventually(lambda: counted(bare, set(), 3))


@pytest.mark.parametrize("writes", range(5))
async def test_a_deletion_that_is_broken_off_is_finished(bare: World, writes: int) -> None:
    await bare.create(MACHINES, machine("vm", "Always"))
    async with controllers(bare.client):
        await bare.run("vm")
        await bare.printed("vm", "Running")
    await bare.client.delete(MACHINES, "vm", bare.namespace)
    dying = Dying(bare.client, writes)

    async def finish() -> None:
        await bare.until(INSTANCES, "vm", lambda each: each["metadata"].get("deletionTimestamp"))
        await bare.end("vm")
        await bare.gone_with_pod(MACHINES, "vm")

    async with controllers(dying):
        ending = asyncio.create_task(finish())
        death = asyncio.create_task(dying.died.wait())
        await asyncio.wait([ending, death], return_when=asyncio.FIRST_COMPLETED)
        death.cancel()
    async with controllers(bare.client):
        await ending
        await bare.gone_with_pod(INSTANCES, "vm")
    assert not (await bare.client.list(PODS, bare.namespace))["items"]
