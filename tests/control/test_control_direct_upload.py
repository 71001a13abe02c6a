"""Claims that take an upload themselves, on a real API server (B8)."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from control.population import Population, annotations, population
from eventual import eventually
from ingot.api.cdi import names
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import PODS, SECRETS, VOLUME_CLAIMS
from ingot.control.uploads.target import pod_name
from ingot.control.volumes.direct_upload import DirectUploads
from ingot.kube.client import Client
from ingot.kube.manager import Manager


@pytest.fixture
async def world(client: Client) -> AsyncIterator[Population]:
    async with population(client) as made:
        manager = Manager(client)
        DirectUploads(manager, made.clock)
        running = asyncio.create_task(manager.run(asyncio.Event()))
        try:
            yield made
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def _claim(world: Population, **asked: str) -> Object:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": ""}
    claim = {"metadata": {"name": "disk", "annotations": asked}, "spec": spec}
    return await world.create(VOLUME_CLAIMS, claim)


def _user(name: str) -> Object:
    """A pod with the claim."""
    container = {"name": "user", "image": "example.com/none", "volumeMounts": [{"name": "disk", "mountPath": "/disk"}]}
    volume = {"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}}
    labels = {names.COMPONENT: "cdi-upload-server"}
    return {"metadata": {"name": name, "labels": labels}, "spec": {"containers": [container], "volumes": [volume]}}


async def test_a_claim_in_use_is_not_uploaded_to(world: Population) -> None:
    """The disk of a machine that runs would be another one, and what it writes be lost."""
    claim = await _claim(world)
    await world.create(PODS, _user("machine"))
    await world.change(VOLUME_CLAIMS, "disk", {"metadata": {"annotations": {names.UPLOAD_TARGET: ""}}})
    told = annotations(await world.tells(claim, names.RUNNING_REASON, "ClaimInUse"))
    assert 'pod "machine"' in told[names.RUNNING_MESSAGE]
    asked = await world.get(VOLUME_CLAIMS, "disk")
    assert await world.is_gone(PODS, pod_name(asked))
    await world.client.delete(PODS, "machine", world.namespace, grace_period=0)

    async def begun() -> bool:
        await world.pass_time(5)
        return not await world.is_gone(PODS, pod_name(asked))

    await eventually(begun)


async def test_a_pod_that_has_the_name_of_the_worker_fills_nothing(world: Population) -> None:
    claim = await _claim(world)
    asked = {**claim, "metadata": {**claim["metadata"], "annotations": {names.UPLOAD_TARGET: ""}}}
    foreign = await world.create(PODS, _user(pod_name(asked)))
    await world.pod_status(foreign, phase="Succeeded")
    await world.bind("disk")
    await world.change(VOLUME_CLAIMS, "disk", {"metadata": {"annotations": {names.UPLOAD_TARGET: ""}}})
    told = annotations(await world.tells(claim, names.RUNNING_REASON, "NameTaken"))
    assert name_of(foreign) in told[names.RUNNING_MESSAGE]
    assert told[names.POD_PHASE] != "Succeeded"


async def test_a_pod_that_the_server_refuses_is_told_and_tried_again(world: Population) -> None:
    claim = await _claim(world, **{names.UPLOAD_TARGET: "", names.PRIORITY_CLASS: "nobody-has-that"})
    told = annotations(await world.tells(claim, names.RUNNING_REASON, "FailedCreate"))
    assert "nobody-has-that" in told[names.RUNNING_MESSAGE]
    assert told[names.RUNNING_MESSAGE].endswith("; tried again in 10 s")
    await world.heard("disk", "FailedCreate")
    await world.change(VOLUME_CLAIMS, "disk", {"metadata": {"annotations": {names.PRIORITY_CLASS: None}}})
    await world.until(PODS, pod_name(claim), bool)


async def test_a_pod_that_is_evicted_is_followed_by_another_after_a_while(world: Population) -> None:
    """A node without room had forty pods a second made for it."""
    claim, name = await _taking(world)
    first = await world.get(PODS, name)
    await world.pod_status(first, phase="Failed", reason="Evicted", message="the node was low on disk")
    told = annotations(await world.tells(claim, names.RUNNING_REASON, "Evicted"))
    assert told[names.RUNNING_MESSAGE].endswith("the node was low on disk; another one takes its place, tried again")
    await world.heard("disk", "Evicted")
    assert "deletionTimestamp" not in (await world.get(PODS, name))["metadata"]

    async def followed() -> bool:
        await world.pass_time(1)
        await world.end_pods()
        return uid_of(await world.get(PODS, name)) != uid_of(first)

    began = world.clock.time()
    await eventually(followed)
    assert world.clock.time() - began >= 5, "ten seconds after it was made"


async def test_what_keeps_a_pod_from_its_volumes_is_told(world: Population) -> None:
    claim, name = await _taking(world)
    await world.warns(await world.get(PODS, name), PODS.kind, "FailedMount", "the volume is attached to another node")
    await world.tells(claim, names.RUNNING_REASON, "Pending")
    await world.pass_time(3)
    await world.tells(claim, names.RUNNING_MESSAGE, "the volume is attached to another node")


async def _taking(world: Population) -> tuple[Object, str]:
    """A claim that takes an upload, and the name of its pod and Secret."""
    claim = await _claim(world, **{names.UPLOAD_TARGET: ""})
    name = pod_name(claim)
    await eventually(lambda: world.get(PODS, name))
    assert not await world.is_gone(SECRETS, name)
    return claim, name


async def test_of_a_claim_that_is_deleted_the_upload_ends(world: Population) -> None:
    """Its pod has it mounted, so that it stays until that is gone."""
    _, name = await _taking(world)
    await world.change(VOLUME_CLAIMS, "disk", {"metadata": {"finalizers": ["example.com/used"]}})
    await world.client.delete(VOLUME_CLAIMS, "disk", world.namespace)
    await world.gone_with_pod(PODS, name)
    await world.gone(SECRETS, name)
    await world.change(VOLUME_CLAIMS, "disk", {"metadata": {"finalizers": None}})
    await world.gone(VOLUME_CLAIMS, "disk")


async def test_of_a_claim_that_is_no_target_any_more_the_upload_ends(world: Population) -> None:
    """Copies of it would wait for the pod for ever."""
    _, name = await _taking(world)
    await world.change(VOLUME_CLAIMS, "disk", {"metadata": {"annotations": {names.UPLOAD_TARGET: None}}})
    await world.gone_with_pod(PODS, name)
    await world.gone(SECRETS, name)
    assert not await world.is_gone(VOLUME_CLAIMS, "disk")


async def test_the_secret_of_an_upload_goes_also_where_its_pod_has_gone_before(world: Population) -> None:
    claim, name = await _taking(world)
    await world.change(PODS, name, {"metadata": {"ownerReferences": None}})
    await world.tells(claim, names.RUNNING_REASON, "NameTaken")
    await world.change(VOLUME_CLAIMS, "disk", {"metadata": {"annotations": {names.FAILURE: "{}"}}})
    await world.gone(SECRETS, name)
    assert not await world.is_gone(PODS, name), "somebody has made it theirs"
