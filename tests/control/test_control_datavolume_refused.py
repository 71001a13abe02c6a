"""DataVolumes on a real API server of which something is not taken: they say so, and keep nobody waiting."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from control.population import population
from control.world import World
from eventual import eventually
from ingot.api.cdi.names import CLONE_TYPE, POD_PHASE, SIZE_PREFIX
from ingot.api.object import Object, uid_of
from ingot.api.resource import Resource
from ingot.api.resources import DATA_SOURCES, DATA_VOLUMES, IMPORT_SOURCES, PODS, VOLUME_CLAIMS
from ingot.api.status import ApiError
from ingot.control.volumes.datavolumes import DataVolumes
from ingot.control.volumes.gate import TRANSFERS
from ingot.control.volumes.marks import phase_of
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


def notes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody's webhook lets no status of a DataVolume say where it comes from."""
    patch = Client.patch

    async def guarded(self: Client, resource: Resource, name: str, body: Object, *given: Any, **options: Any) -> Object:
        if resource == DATA_VOLUMES and "origin" in body.get("status", {}):
            raise ApiError(403, "Forbidden", "may not read there")
        return await patch(self, resource, name, body, *given, **options)

    monkeypatch.setattr(Client, "patch", guarded)


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


async def test_a_clone_under_way_is_told_though_nobody_may_note_where_its_source_has_moved(
    lab: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was Pending again, with no claim."""
    claimed = {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "resources": {"requests": {"storage": "1Gi"}}}
    await lab.create(VOLUME_CLAIMS, {"metadata": {"name": "golden"}, "spec": claimed})
    link = {"source": {"pvc": {"namespace": lab.namespace, "name": "golden"}}}
    await lab.create(DATA_SOURCES, {"metadata": {"name": "fedora"}, "spec": link})
    spec = {"sourceRef": {"kind": "DataSource", "name": "fedora"}, "storage": claimed}
    await lab.create(DATA_VOLUMES, {"metadata": {"name": "copy"}, "spec": spec})
    await lab.until(DATA_VOLUMES, "copy", lambda each: phase_of(each) == "CloneScheduled")
    notes_nothing(monkeypatch)
    await lab.change(DATA_SOURCES, "fedora", {"spec": {"source": {"pvc": {"namespace": "default"}}}})
    message = await told(lab, "copy", "ErrClaimNotValid")
    assert message == "status.origin was refused: may not read there; tried again in 10 s"
    under_way = {CLONE_TYPE: "copy", POD_PHASE: "Running"}
    await lab.change(VOLUME_CLAIMS, "copy", {"metadata": {"annotations": under_way}})
    found = await lab.until(DATA_VOLUMES, "copy", lambda each: phase_of(each) == "CloneInProgress")
    assert (condition(found, "Bound") or {})["reason"] == "Pending"
