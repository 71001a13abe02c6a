"""What golden images cost registries: one request for each look that finds nothing new, and one more for a pass where
they give passes (G3)."""

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from control.cron_world import CLAIM, clear_crons, cron_controllers
from control.world import World
from eventual import eventually
from images.servers.counting import CountingRegistry
from ingot.api.cdi.names import CHECK_NOW, CHECKED, LAST_CRON_TIME
from ingot.api.object import Object, name_of
from ingot.api.resource import Resource
from ingot.api.resources import DATA_IMPORT_CRONS
from ingot.control.volumes.marks import annotation
from ingot.images.registry import auth
from ingot.kube.transport import ConnectionFailed

MANY = 50
# There is one look in a week.
WEEKLY, WEEK = "0 0 * * 0", 7 * 86400.0


@pytest.fixture
def registry() -> Iterator[CountingRegistry]:
    with CountingRegistry() as server:
        yield server


def cron(name: str, host: str) -> Object:
    template = {"spec": {"source": {"registry": {"url": f"docker://{host}/{name}:latest"}}, "pvc": CLAIM}}
    spec = {"template": template, "schedule": WEEKLY, "managedDataSource": name}
    return {"metadata": {"name": name}, "spec": spec}


async def test_each_cron_asks_once_when_its_time_has_come(bare: World, registry: CountingRegistry) -> None:
    names = [f"disk-{number}" for number in range(MANY)]
    await asyncio.gather(*(bare.create(DATA_IMPORT_CRONS, cron(name, registry.host)) for name in names))
    once = {f"HEAD /v2/{name}/manifests/latest": 1 for name in names}
    seen: dict[str, str] = {}
    async with cron_controllers(bare.client, bare.clock):
        await all_looked(bare, seen)
        assert registry.asked() == once
        await bare.clock.advance(WEEK)
        await all_looked(bare, seen)
        assert registry.asked() == once
    # Whoever starts anew knows from the crons that they have looked.
    async with cron_controllers(bare.client, bare.clock):
        await bare.clock.advance(WEEK)
        await all_looked(bare, seen)
        assert registry.asked() == once
        await clear_crons(bare)


async def test_an_answer_that_could_not_be_written_is_not_asked_for_again(
    bare: World, registry: CountingRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bare.create(DATA_IMPORT_CRONS, cron("disk", registry.host))
    patch, failures = bare.client.patch, iter(range(3))

    async def failing(resource: Resource, name: str, body: Object, *place: Any, **options: Any) -> Object:
        if LAST_CRON_TIME in (body["metadata"].get("annotations") or {}) and next(failures, None) is not None:
            raise ConnectionFailed("server", "PATCH", "/crons", "closed", "the line is down")
        return await patch(resource, name, body, *place, **options)

    monkeypatch.setattr(bare.client, "patch", failing)
    async with cron_controllers(bare.client, bare.clock):
        await all_looked(bare, {})
        assert registry.asked() == {"HEAD /v2/disk/manifests/latest": 1}
        assert next(failures, None) is None
        await clear_crons(bare)


async def test_where_passes_are_given_a_look_costs_one_more(bare: World, monkeypatch: pytest.MonkeyPatch) -> None:
    # Passes last by the clock that the test moves.
    monkeypatch.setattr(auth, "time", SimpleNamespace(monotonic=bare.clock.monotonic))
    names = [f"disk-{number}" for number in range(5)]
    head = {f"HEAD /v2/{name}/manifests/latest": 1 for name in names}
    given = {f"GET /token?scope=repository:{name}:pull": 1 for name in names}
    seen: dict[str, str] = {}
    with CountingRegistry(bearer=True) as registry:
        await asyncio.gather(*(bare.create(DATA_IMPORT_CRONS, cron(name, registry.host)) for name in names))
        async with cron_controllers(bare.client, bare.clock):
            await all_looked(bare, seen)
            first = registry.asked()
            # The first of them learn from a refusal that passes are given.
            assert {what: first[what] for what in given} == given
            assert all(1 <= first[what] <= 2 for what in head)
            for _ in range(2):
                await bare.clock.advance(WEEK)
                await all_looked(bare, seen)
                assert registry.asked() == head | given
            # A pass that is still good is used again.
            await all_checked(bare, names, "once")
            registry.asked()
            await all_checked(bare, names, "twice")
            assert registry.asked() == head
            await clear_crons(bare)


async def all_checked(bare: World, names: list[str], when: str) -> None:
    """Somebody asks every cron for a look now, and it is done."""
    for name in names:
        await bare.change(DATA_IMPORT_CRONS, name, {"metadata": {"annotations": {CHECK_NOW: when}}})

    async def look() -> bool:
        found = (await bare.client.list(DATA_IMPORT_CRONS, bare.namespace))["items"]
        return all(annotation(each, CHECKED) == when for each in found)

    await eventually(look, 60)


async def all_looked(bare: World, seen: dict[str, str]) -> None:
    """Waits until every cron has looked since the moments that were `seen`, which become those of now. Time goes on
    meanwhile, for whom the server has told to try again."""

    async def look() -> dict[str, str] | None:
        await bare.clock.advance(1.0)
        found = (await bare.client.list(DATA_IMPORT_CRONS, bare.namespace))["items"]
        told = {name_of(each): annotation(each, LAST_CRON_TIME) for each in found}
        return told if all(when and when != seen.get(name) for name, when in told.items()) else None

    seen.update(await eventually(look, 60) or {})
