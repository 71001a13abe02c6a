"""DataVolumes on a real API server of which something is not taken: they say so, and keep nobody waiting."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from control.population import population
from control.world import World
from eventual import eventually
from ingot.api.cdi.names import SIZE_PREFIX
from ingot.api.object import Object, uid_of
from ingot.api.resource import Resource
from ingot.api.resources import DATA_VOLUMES, IMPORT_SOURCES, PODS, VOLUME_CLAIMS
from ingot.api.status import ApiError
from ingot.control.volumes.datavolumes import DataVolumes
from ingot.control.volumes.gate import TRANSFERS
from ingot.kube.client import Client
from ingot.kube.manager import Manager
from ingot.kube.objects import condition, controller_of


@pytest.fixture
async def lab(client: Client) -> AsyncIterator[World]:
    """A namespace with DataVolumes' controller at work, and no populator. It leaves nothing that a gate would count."""
    async with population(client) as made:
        manager, stop = Manager(client), asyncio.Event()
        DataVolumes(manager, made.clock)
        running = asyncio.create_task(manager.run(stop))
        yield made
        stop.set()
        await running
        await client.delete_collection(DATA_VOLUMES, made.namespace)


def refuses(monkeypatch: pytest.MonkeyPatch, kind: Resource, error: ApiError) -> None:
    """The server, or somebody's webhook, takes no such objects of DataVolumes whose names begin with "refused"."""
    create = Client.create

    async def guarded(self: Client, resource: Resource, obj: Object, **options: Any) -> Object:
        if resource == kind and (controller_of(obj) or {}).get("name", "").startswith("refused"):
            raise error
        return await create(self, resource, obj, **options)

    monkeypatch.setattr(Client, "create", guarded)


async def volume(lab: World, name: str, **storage: Any) -> Object:
    source = {"http": {"url": "http://images.example/disk.qcow2"}}
    wanted = {"accessModes": ["ReadWriteOnce"], "storageClassName": "", **storage}
    return await lab.create(DATA_VOLUMES, {"metadata": {"name": name}, "spec": {"source": source, "storage": wanted}})


async def told(lab: World, name: str, reason: str) -> str:
    """What the DataVolume says, for that reason; an event says it too."""
    found = await lab.until(DATA_VOLUMES, name, lambda each: (condition(each, "Ready") or {}).get("reason") == reason)
    await lab.heard(name, reason)
    return str((condition(found, "Ready") or {})["message"])


REFUSALS = [
    ApiError(400, "BadRequest", "the label team is missing"),
    ApiError(500, "InternalError", "failed calling webhook: the label team is missing"),
]


@pytest.mark.parametrize("error", REFUSALS, ids=lambda error: str(error.code))
async def test_looks_whose_pods_are_refused_say_why_and_keep_nobody_waiting(
    lab: World, monkeypatch: pytest.MonkeyPatch, error: ApiError
) -> None:
    refuses(monkeypatch, PODS, error)
    for number in range(TRANSFERS):
        await volume(lab, f"refused-{number}")
        message = await told(lab, f"refused-{number}", "FailedCreate")
        assert message.endswith(f"was refused: {error.message}; tried again in 10 s")
    healthy = await volume(lab, "healthy")

    async def begun() -> bool:
        await lab.pass_time(1)
        return not await lab.is_gone(PODS, f"{SIZE_PREFIX}{uid_of(healthy)}")

    await eventually(begun)


@pytest.mark.parametrize("error", REFUSALS, ids=lambda error: str(error.code))
@pytest.mark.parametrize(
    ("kind", "shown"),
    [(VOLUME_CLAIMS, "the claim"), (IMPORT_SOURCES, "the VolumeImportSource")],
    ids=["claim", "source"],
)
async def test_one_whose_claim_or_source_is_refused_says_why(
    lab: World, monkeypatch: pytest.MonkeyPatch, kind: Resource, shown: str, error: ApiError
) -> None:
    """It had no status at all."""
    refuses(monkeypatch, kind, error)
    await volume(lab, "refused", resources={"requests": {"storage": "1Gi"}})
    message = await told(lab, "refused", "ErrClaimNotValid")
    assert message == f"{shown} was refused: {error.message}; tried again in 10 s"
    monkeypatch.undo()
    await lab.pass_time(10)
    await lab.until(VOLUME_CLAIMS, "refused", bool)
