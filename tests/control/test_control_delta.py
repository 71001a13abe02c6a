"""Imports take what the claim of the version before has, and wait for it in no case (X4)."""

from collections.abc import AsyncIterator

import pytest

from control.population import Population, population, populators, worker_name
from eventual import eventually
from ingot.api.cdi import names
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import PODS, VOLUME_CLAIMS
from ingot.control.volumes.delta import PREVIOUS
from ingot.kube.client import Client

VERSION_BEFORE = {names.DELTA_FROM: "before"}


@pytest.fixture
async def world(client: Client) -> AsyncIterator[Population]:
    """With a claim that has a volume, and a registry to import from."""
    async with population(client) as made, populators(made):
        spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "resources": {"requests": {"storage": "1Gi"}}}
        before = await made.create(VOLUME_CLAIMS, {"metadata": {"name": "before"}, "spec": spec})
        await made.bind(name_of(before))
        await made.source(registry={"url": "docker://far/disk:v2"})
        yield made


def mounted(pod: Object) -> list[Object]:
    """The claim of the version before, as the worker has it."""
    return [each["persistentVolumeClaim"] for each in pod["spec"]["volumes"] if each["name"] == PREVIOUS]


async def test_the_version_before_is_mounted_to_be_read(world: Population) -> None:
    pod = await world.worker(await world.claim(annotations=VERSION_BEFORE))
    assert mounted(pod) == [{"claimName": "before", "readOnly": True}]
    (container,) = pod["spec"]["containers"]
    assert container["args"][container["args"].index("--previous") + 1] == "/source/disk.img"
    assert {"name": PREVIOUS, "mountPath": "/source", "readOnly": True} in container["volumeMounts"]


async def test_who_writes_to_the_version_before_is_left_alone(world: Population) -> None:
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "before"}}
    container = {"name": "c", "image": "example.com/none", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    await world.create(PODS, {"metadata": {"name": "writer"}, "spec": {"containers": [container], "volumes": [volume]}})
    assert mounted(await world.worker(await world.claim(annotations=VERSION_BEFORE))) == []


@pytest.mark.parametrize("name", ["gone", "disk"])
async def test_what_has_no_volume_is_not_waited_for(world: Population, name: str) -> None:
    """Nor is the claim itself that is to be filled."""
    assert mounted(await world.worker(await world.claim(annotations={names.DELTA_FROM: name}))) == []


async def test_a_worker_that_does_not_start_does_without(world: Population) -> None:
    """As where the volume is attached to another node."""
    claim = await world.claim(annotations=VERSION_BEFORE)
    first = await world.worker(claim)

    async def look() -> Object | None:
        await world.clock.advance(61)
        await world.end_pods()
        found = await world.get(PODS, worker_name(claim))
        return found if uid_of(found) != uid_of(first) else None

    assert mounted(await eventually(look)) == []
    await world.heard("disk", "DeltaNotPossible")
