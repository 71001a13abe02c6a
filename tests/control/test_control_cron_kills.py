"""The process of a cron's controllers dies after any of its writes: the next one finishes what was begun, once (G3)."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from control.cron_world import CronWorld, cron_controllers
from control.dying import Dying
from eventual import eventually
from ingot.api.cdi import names
from ingot.api.resources import DATA_IMPORT_CRONS, DATA_SOURCES, DATA_VOLUMES, VOLUME_CLAIMS
from ingot.api.status import ApiError
from ingot.control.golden.crons import Crons
from ingot.control.golden.datasources import DataSources
from ingot.control.golden.polls import Polls
from ingot.control.volumes.datavolumes import DataVolumes
from ingot.kube.objects import controller_of, is_true

MORTAL, OTHERS = (Polls, Crons), (DataVolumes, DataSources)
# An import of before.
OLD = f"fedora-{'0' * 12}"


async def fill_all(crons: CronWorld) -> None:
    """A populator, which works on whether the controllers do or not."""
    filled: set[str] = set()
    while True:
        for claim in (await crons.world.client.list(VOLUME_CLAIMS, crons.world.namespace))["items"]:
            uid, name = claim["metadata"]["uid"], claim["metadata"]["name"]
            if uid not in filled and "deletionTimestamp" not in claim["metadata"]:
                filled.add(uid)
                with suppress(ApiError):
                    await crons.fill(name)
        await crons.world.end_claims()
        await asyncio.sleep(0.02)


async def stands(crons: CronWorld, digest: str) -> bool:
    """The newest version is served, the first one is gone, and nothing was made twice."""
    world = crons.world
    assert await crons.imports() <= {crons.name_of(digest), OLD}
    links = (await world.client.list(DATA_SOURCES, world.namespace))["items"]
    assert len(links) <= 1
    cron = await world.get(DATA_IMPORT_CRONS, "fedora")
    if not is_true(cron, "UpToDate") or not await world.is_gone(DATA_VOLUMES, OLD):
        return False
    assert cron["metadata"]["finalizers"] == [names.CRON_FINALIZER]
    (link,) = links
    assert (controller_of(link) or {})["uid"] == cron["metadata"]["uid"]
    assert link["spec"]["source"]["pvc"]["name"] == crons.name_of(digest)
    assert await crons.imports() == {crons.name_of(digest)}
    return is_true(link, "Ready")


@pytest.mark.parametrize("writes", range(11))
async def test_a_version_that_is_broken_off_is_finished_once(golden_bare: CronWorld, writes: int) -> None:
    crons = golden_bare
    world, digest = crons.world, crons.push("1")
    old = f"sha256:{'0' * 64}"
    metadata = {
        "name": OLD,
        "labels": {names.IMPORT_CRON: "fedora"},
        "annotations": {names.DESIRED_DIGEST: old, names.LAST_USE: "2023-11-14T22:00:00Z"},
    }
    await world.create(DATA_VOLUMES, {"metadata": metadata, "spec": crons.template["spec"]})
    await crons.cron(importsToKeep=1)
    filling = asyncio.create_task(fill_all(crons))
    dying = Dying(world.client, writes)
    async with cron_controllers(world.client, world.clock, OTHERS):
        async with cron_controllers(dying, world.clock, MORTAL), asyncio.timeout(10):
            while not dying.died.is_set():
                await world.pass_time(1)
                await asyncio.sleep(0.02)
        async with cron_controllers(world.client, world.clock, MORTAL):

            async def done() -> bool:
                await world.pass_time(1)
                return await stands(crons, digest)

            await eventually(done)
            filling.cancel()
            await crons.clear()
