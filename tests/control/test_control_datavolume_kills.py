"""The process of DataVolumes' controller dies after any of its writes: the next one finishes what was begun, once."""

import asyncio
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import pytest

from control.clock import WorldClock
from control.dying import Dying
from control.population import last_words
from control.world import World
from eventual import eventually
from ingot.api.cdi.names import ADOPT, DELETE_WHEN_DONE, POD_PHASE, POPULATED_FOR
from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.resources import (
    CLONE_SOURCES,
    DATA_VOLUMES,
    IMPORT_SOURCES,
    NAMESPACES,
    PODS,
    STORAGE_CLASSES,
    VOLUME_CLAIMS,
)
from ingot.control.volumes.datavolumes import DataVolumes
from ingot.kube.client import Client
from ingot.kube.manager import Manager

CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
WEB = {"http": {"url": "http://images.example/disk.img"}}


def volume(source: Object, **annotations: str) -> Object:
    """A DataVolume that goes when it is done."""
    metadata = {"name": "disk", "annotations": {DELETE_WHEN_DONE: "true", **annotations}}
    return {"metadata": metadata, "spec": {"source": source, "pvc": CLAIM}}


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


class DyingAtTheEnd(Dying):
    """One that dies right before it deletes a DataVolume."""

    def __init__(self, client: Client) -> None:
        super().__init__(client, sys.maxsize)

    async def call(self, method: str, path: str, *arguments: Any, **more: Any) -> Object:
        if method == "DELETE" and f"/{DATA_VOLUMES.plural}/" in path:
            self.left = 0
        return await super().call(method, path, *arguments, **more)


async def fill(world: World, source: Resource = IMPORT_SOURCES) -> None:
    """A populator, which works on whether the controller does or not."""

    async def sourced() -> bool:
        claim = await world.get(VOLUME_CLAIMS, "disk")
        return bool(await world.get(source, claim["spec"]["dataSourceRef"]["name"]))

    await eventually(sourced)
    await world.bind("disk")
    await world.change(VOLUME_CLAIMS, "disk", {"metadata": {"annotations": {POD_PHASE: "Succeeded"}}})


async def done(world: World) -> bool:
    """The DataVolume has gone, as it was asked to; its claim has stayed, and nothing else has."""
    # What is there once it has gone is there for good: asked for the other way round, the claim may be of before.
    has_gone = await world.is_gone(DATA_VOLUMES, "disk")
    claims = (await world.client.list(VOLUME_CLAIMS, world.namespace))["items"]
    listed = [await world.client.list(kind, world.namespace) for kind in (IMPORT_SOURCES, CLONE_SOURCES)]
    sources = [source for each in listed for source in each["items"]]
    assert len(claims) <= 1
    assert len(sources) <= 1
    if sources or not has_gone:
        return False
    assert [claim["status"]["phase"] for claim in claims] == ["Bound"]
    return not claims[0]["metadata"].get("ownerReferences") and "deletionTimestamp" not in claims[0]["metadata"]


async def until_it_dies(world: World, dying: Dying) -> None:
    """Or has done all that there is to do."""

    async def over() -> bool:
        return dying.died.is_set() or await done(world)

    async with controllers(dying):
        await eventually(over)


@pytest.mark.parametrize("writes", range(12))
async def test_a_volume_that_is_broken_off_is_finished_once(bare: World, writes: int) -> None:
    """G1."""
    await bare.create(DATA_VOLUMES, volume(WEB))
    filling = asyncio.create_task(fill(bare))
    await until_it_dies(bare, Dying(bare.client, writes))
    async with controllers(bare.client):
        await filling
        await eventually(lambda: done(bare))


async def test_a_volume_that_is_broken_off_when_its_claim_is_released_goes_without_it(bare: World) -> None:
    await bare.create(DATA_VOLUMES, volume(WEB))
    await released(bare, fill(bare))


@pytest.mark.parametrize(("asked", "told"), [({ADOPT: "true"}, {}), ({}, {POPULATED_FOR: "disk"})])
async def test_so_does_one_whose_claim_was_there_before(bare: World, asked: Object, told: Object) -> None:
    await bare.create(VOLUME_CLAIMS, {"metadata": {"name": "disk", "annotations": told}, "spec": CLAIM})
    await bare.bind("disk")
    await bare.create(DATA_VOLUMES, volume(WEB, **asked))
    await released(bare)


async def test_so_does_a_clone_from_another_namespace(bare: World, client: Client) -> None:
    """Its claim is not its own any more, and yet the one that the right was asked for."""
    namespace = f"golden-{uuid4().hex[:8]}"
    await client.create(NAMESPACES, {"metadata": {"name": namespace}})
    golden = World(client, namespace, bare.clock)
    await golden.create(VOLUME_CLAIMS, {"metadata": {"name": "golden"}, "spec": CLAIM})
    await golden.bind("golden")
    await bare.create(DATA_VOLUMES, volume({"pvc": {"namespace": namespace, "name": "golden"}}))
    await released(bare, fill(bare, CLONE_SOURCES))


async def released(world: World, *filling: Coroutine[Any, Any, None]) -> None:
    """The DataVolume is finished by a second process, the first of which dies right before the end."""
    dying = DyingAtTheEnd(world.client)
    async with controllers(dying), asyncio.timeout(30):
        await asyncio.gather(dying.died.wait(), *filling)
    (claim,) = (await world.client.list(VOLUME_CLAIMS, world.namespace))["items"]
    assert not claim["metadata"].get("ownerReferences")
    async with controllers(world.client):
        await eventually(lambda: done(world))


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
