"""Sources that go, or come back otherwise, while a claim is filled: nothing is bound but what they say now (G1)."""

from collections.abc import AsyncIterator

import pytest

from control.population import Population, annotations, last_words, population, populators, worker_name
from eventual import eventually
from ingot.api.cdi import names
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resource import Resource
from ingot.api.resources import IMPORT_SOURCES, PODS, SECRETS, UPLOAD_SOURCES, VOLUME_CLAIMS, VOLUMES
from ingot.api.status import ApiError
from ingot.control.subresources.tokens import UploadTokens
from ingot.control.uploads.target import pod_name
from ingot.control.volumes.importing import URL_VARIABLE
from ingot.kube.client import Client

OLD, NEW = {"url": "http://127.0.0.1:1/old.img"}, {"url": "http://127.0.0.1:1/new.img"}


@pytest.fixture
async def world(client: Client) -> AsyncIterator[Population]:
    async with population(client) as made, populators(made):
        yield made


@pytest.fixture
async def idle(client: Client) -> AsyncIterator[Population]:
    """Nobody at work."""
    async with population(client) as made:
        yield made


async def drop(world: Population, kind: Resource = IMPORT_SOURCES) -> None:
    """Somebody deletes the source, a while after it was made."""
    await world.clock.advance(5)
    await world.client.delete(kind, "source", world.namespace)


def address(pod: Object) -> str:
    """What a worker fetches."""
    return next(each["value"] for each in pod["spec"]["containers"][0]["env"] if each["name"] == URL_VARIABLE)


async def successor(world: Population, name: str, former: Object) -> Object:
    """The pod of that name that came after another one, on another prime, with a kubelet at work."""

    async def look() -> Object | None:
        await world.end_pods()
        await world.end_claims()
        found = await world.get(PODS, name)
        return found if uid_of(found) != uid_of(former) else None

    found = await eventually(look)
    assert found is not None
    return found


async def is_given(world: Population, claim: Object) -> bool:
    volumes = (await world.client.list(VOLUMES))["items"]
    return any((each["spec"].get("claimRef") or {}).get("uid") == uid_of(claim) for each in volumes)


@pytest.mark.parametrize("moment", ["running", "failing", "filled", "stopped"])
async def test_a_source_that_was_replaced_is_begun_anew(world: Population, moment: str) -> None:
    await world.source(http=OLD)
    claim = await world.claim()
    former = await world.runs(claim)
    await world.change(VOLUME_CLAIMS, "disk", {"metadata": {"annotations": {names.PROGRESS: '{"done": 5}'}}})
    if moment == "failing":
        await world.fails(claim, 2, last_words("NotFound", "404", retry=False))
    if moment == "filled":
        # It is kept from being bound.
        await world.meddler(claim)
        await world.succeeds(claim)
        await world.tells(claim, names.RUNNING_REASON, "PrimeInUse")
    await drop(world)
    if moment == "stopped":
        await world.tells(claim, names.RUNNING_REASON, "SourceNotFound")
    await world.source(http=NEW)
    await world.heard("disk", "SourceChanged")
    (said,) = await world.messages("disk", "SourceChanged")
    assert said.startswith('VolumeImportSource "source" has changed')
    assert names.PROGRESS not in annotations(await world.get(VOLUME_CLAIMS, "disk"))
    if moment == "filled":
        await world.client.delete(PODS, "meddler", world.namespace, grace_period=0)
    pod = await successor(world, worker_name(claim), former)
    assert address(pod) == NEW["url"]
    assert not await is_given(world, claim)
    assert pod["metadata"]["ownerReferences"][0]["uid"] != former["metadata"]["ownerReferences"][0]["uid"]
    await world.runs(claim)
    await world.tells(claim, names.RUNNING, "true")


async def test_a_worker_whose_source_is_gone_is_stopped_and_goes_on_with_what_it_has(world: Population) -> None:
    await world.source(http=OLD)
    claim = await world.claim()
    former = await world.runs(claim)
    await world.tells(claim, names.POD_READY, "true")
    prime = await world.get(VOLUME_CLAIMS, names.prime_name(claim))
    await drop(world)
    told = annotations(await world.tells(claim, names.RUNNING_REASON, "SourceNotFound"))
    assert names.POD_READY not in told
    await world.gone_with_pod(PODS, name_of(former))
    await world.source(http=OLD)
    await world.worker(claim)
    assert uid_of(await world.get(VOLUME_CLAIMS, name_of(prime))) == uid_of(prime)
    assert "SourceChanged" not in await world.reasons("disk")


async def test_what_was_complete_when_its_source_went_is_bound(idle: Population) -> None:
    """Whoever has sent the last byte of an upload has been told so."""
    await idle.source(http=OLD)
    claim = await idle.claim()
    async with populators(idle):
        await idle.runs(claim)
    await idle.succeeds(claim)
    await drop(idle)
    async with populators(idle):
        await idle.given(claim)


async def test_a_worker_that_has_just_ended_when_its_source_went_is_not_stopped(idle: Population) -> None:
    """Its container tells of that before its pod does."""
    await idle.source(http=OLD)
    claim = await idle.claim()
    async with populators(idle):
        await idle.runs(claim)
        await idle.tells(claim, names.POD_READY, "true")
    await idle.bind(names.prime_name(claim))
    await idle.container(claim, "Running", 0, {"terminated": {"exitCode": 0, "reason": "Completed"}})
    await drop(idle)
    async with populators(idle):
        await idle.tells(claim, names.POD_READY, "false")
        await idle.succeeds(claim, bound=True)
        await idle.given(claim)


async def test_a_prime_of_an_older_version_goes_on_and_is_noted(idle: Population) -> None:
    await idle.source(http=OLD)
    claim = await idle.claim()
    async with populators(idle):
        former = await idle.worker(claim)
    name = names.prime_name(claim)
    await idle.change(VOLUME_CLAIMS, name, {"metadata": {"annotations": {names.MADE_FROM: None}}})
    async with populators(idle):
        await idle.until(VOLUME_CLAIMS, name, lambda each: names.MADE_FROM in annotations(each))
        assert uid_of(await idle.worker(claim)) == uid_of(former)
        await drop(idle)
        await idle.source(http=NEW)
        assert address(await successor(idle, worker_name(claim), former)) == NEW["url"]


async def an_upload(world: Population) -> Object:
    await world.create(UPLOAD_SOURCES, {"metadata": {"name": "source"}, "spec": {}})
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": ""}
    reference = {"apiGroup": names.GROUP, "kind": UPLOAD_SOURCES.kind, "name": "source"}
    return await world.create(
        VOLUME_CLAIMS, {"metadata": {"name": "disk"}, "spec": {**spec, "dataSourceRef": reference}}
    )


async def test_an_upload_whose_source_is_gone_takes_no_byte_and_gives_no_token(world: Population) -> None:
    claim = await an_upload(world)
    former = await world.until(PODS, pod_name(claim), bool)
    await drop(world, UPLOAD_SOURCES)
    with pytest.raises(ApiError, match=r'VolumeUploadSource "source", which spec\.dataSourceRef names, is not there'):
        await UploadTokens(world.client).create(world.namespace, "v1beta1", b'{"spec": {"pvcName": "disk"}}')
    await world.gone_with_pod(PODS, name_of(former))
    secret = await world.get(SECRETS, pod_name(claim))
    await world.create(UPLOAD_SOURCES, {"metadata": {"name": "source"}, "spec": {"contentType": "archive"}})
    pod = await successor(world, pod_name(claim), former)
    args = pod["spec"]["containers"][0]["args"]
    assert args[args.index("--content-type") + 1] == "archive"
    assert uid_of(await world.get(SECRETS, pod_name(claim))) != uid_of(secret)
    assert "NameTaken" not in await world.reasons("disk")
