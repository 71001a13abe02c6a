"""Controllers of golden images die after each of their writes: the next go on, and no minute is chosen twice."""

import asyncio
from collections.abc import Awaitable, Callable

from control.dying import Dying
from control.golden_world import Golden, at_work
from control.world import World
from ingot.api.object import name_of
from ingot.api.resources import DATA_IMPORT_CRONS, DATA_SOURCES, HYPERCONVERGEDS, SSPS, TEMPLATES
from ingot.control.golden import common
from ingot.control.golden.hyperconverged import HyperConvergeds
from ingot.control.golden.ssp import SSPs
from ingot.kube.manager import Manager
from ingot.kube.objects import is_true


async def live_shortly(golden: Golden, choose: Callable[[], int], done: Callable[[], Awaitable[bool]]) -> int:
    """Lives of one write each until that is done; how many it took."""
    for lives in range(200):
        client = Dying(golden.client, 1)
        manager = Manager(client)
        SSPs(manager)
        HyperConvergeds(manager, choose=choose)
        running = asyncio.create_task(manager.run(asyncio.Event()))
        dying = asyncio.create_task(client.died.wait())
        while not dying.done() and not await done():
            await asyncio.wait({dying}, timeout=0.02)
        for task in (running, dying):
            task.cancel()
        await asyncio.gather(running, dying, return_exceptions=True)
        if await done():
            return lives + 1
    raise AssertionError("it does not come to an end")


async def test_all_of_it_comes_and_goes_in_lives_of_one_write(bare: World) -> None:
    chosen: list[int] = []

    def choose() -> int:
        chosen.append(42)
        return 42

    async with at_work(bare) as golden:
        spec = {"enableCommonBootImageImport": True}
        await golden.create(HYPERCONVERGEDS, {"metadata": {"name": "hco"}, "spec": spec})

        async def is_up() -> bool:
            found = await golden.get(HYPERCONVERGEDS, "hco")
            listed = (found.get("status") or {}).get("dataImportCronTemplates", ())
            return is_true(found, "Available") and all(is_true(each, "Deployed") for each in listed)

        lives = await live_shortly(golden, choose, is_up)
        assert lives > len(common.templates()) + len(common.sources()) + len(common.crons())
        found = await golden.get(HYPERCONVERGEDS, "hco")
        assert (found["status"]["dataImportSchedule"], chosen) == ("42 */12 * * *", [42])
        assert len(await golden.made(TEMPLATES)) == len(common.templates())
        assert {name_of(each) for each in await golden.made(DATA_SOURCES)} == common.sources()
        crons = await golden.made(DATA_IMPORT_CRONS)
        assert {each["spec"]["schedule"] for each in crons} == {"42 */12 * * *"}

        await golden.client.delete(SSPS, "ssp-hco", golden.namespace)
        await golden.client.delete(HYPERCONVERGEDS, "hco", golden.namespace)

        async def is_gone() -> bool:
            return await golden.is_gone(SSPS, "ssp-hco")

        await live_shortly(golden, choose, is_gone)
        assert await golden.made(DATA_IMPORT_CRONS) == await golden.made(DATA_SOURCES) == []
