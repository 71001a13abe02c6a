"""The process of DataVolumes' controller dies after any of its writes: the next one finishes what was begun, once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from control.clock import WorldClock
from control.dying import Dying
from control.population import last_words
from control.world import World
from eventual import eventually
from ingot.api.cdi.names import DELETE_WHEN_DONE, POD_PHASE
from ingot.api.object import Object
from ingot.api.resources import DATA_VOLUMES, IMPORT_SOURCES, PODS, STORAGE_CLASSES, VOLUME_CLAIMS
from ingot.control.volumes.datavolumes import DataVolumes
from ingot.kube.client import Client
from ingot.kube.manager import Manager

CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


@asynccontextmanager
async def controllers(client: Client) -> AsyncIterator[None]:
    manager = Manager(client)
    DataVolumes(manager, WorldClock())
    running = asyncio.create_task(manager.run(asyncio.Event()))
    try:
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def fill(world: World) -> None:
    """A populator, which works on whether the controller does or not."""

    async def sourced() -> bool:
        claim = await world.get(VOLUME_CLAIMS, "disk")
        return bool(await world.get(IMPORT_SOURCES, claim["spec"]["dataSourceRef"]["name"]))

    await eventually(sourced)
    await world.bind("disk")
    await world.change(VOLUME_CLAIMS, "disk", {"metadata": {"annotations": {POD_PHASE: "Succeeded"}}})


async def done(world: World) -> bool:
    """The DataVolume has gone, as it was asked to; its claim has stayed, and nothing else has."""
    claims = (await world.client.list(VOLUME_CLAIMS, world.namespace))["items"]
    sources = (await world.client.list(IMPORT_SOURCES, world.namespace))["items"]
    assert len(claims) <= 1
    assert len(sources) <= 1
    if sources or not await world.is_gone(DATA_VOLUMES, "disk"):
        return False
    assert [claim["status"]["phase"] for claim in claims] == ["Bound"]
    return not claims[0]["metadata"].get("ownerReferences") and "deletionTimestamp" not in claims[0]["metadata"]


@pytest.mark.parametrize("writes", range(7))
async def test_a_volume_that_is_broken_off_is_finished_once(bare: World, writes: int) -> None:
    """G1."""
    metadata = {"name": "disk", "annotations": {DELETE_WHEN_DONE: "true"}}
    spec = {"source": {"http": {"url": "http://images.example/disk.img"}}, "pvc": CLAIM}
    await bare.create(DATA_VOLUMES, {"metadata": metadata, "spec": spec})
    dying = Dying(bare.client, writes)
    filling = asyncio.create_task(fill(bare))
    async with controllers(dying), asyncio.timeout(10):
        await dying.died.wait()
    async with controllers(bare.client):
        await filling
        await eventually(lambda: done(bare))


async def looks_in_vain(world: World) -> None:
    """A kubelet: the pod that looks for the size ends so, also after its restarts."""

    async def look() -> Object | None:
        return next(iter((await world.client.list(PODS, world.namespace))["items"]), None)

    pod = await eventually(look)
    assert pod is not None
    ended = last_words("NotFound", "the server says 404", retry=False)
    worker = {"name": "worker", "image": "ingot", "imageID": "", "ready": False, "restartCount": 3}
    await world.pod_status(pod, phase="Running", containerStatuses=[{**worker, "state": {"terminated": ended}}])


async def failed(world: World) -> bool:
    await world.end_pods()
    found = await world.get(DATA_VOLUMES, "disk")
    return (found.get("status") or {}).get("phase") == "Failed" and not (
        await world.client.list(PODS, world.namespace)
    )["items"]


@pytest.mark.parametrize("writes", range(4))
async def test_of_one_that_fails_before_its_size_is_known_nothing_is_left(bare: World, writes: int) -> None:
    """A pod that looks would go on for ever, and have one of the places of transfers."""
    far = f"far-{bare.namespace}"
    await bare.client.create(STORAGE_CLASSES, {"metadata": {"name": far}, "provisioner": "example.com/far"})
    spec = {"source": {"http": {"url": "http://images.example/none.img"}}, "storage": {"storageClassName": far}}
    await bare.create(DATA_VOLUMES, {"metadata": {"name": "disk"}, "spec": spec})
    dying = Dying(bare.client, writes)
    looking = asyncio.create_task(looks_in_vain(bare))
    async with controllers(dying), asyncio.timeout(10):
        await dying.died.wait()
    async with controllers(bare.client):
        await looking
        await eventually(lambda: failed(bare))
