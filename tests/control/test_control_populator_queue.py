"""At most so many transfers at once, on a real API server: also when workers fail and the kubelet starts them again."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from control.population import KILLED, Population, annotations, last_words, population, populators, worker_name
from eventual import eventually
from ingot.api.cdi import names
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resource import Resource
from ingot.api.resources import PODS, VOLUME_CLAIMS
from ingot.api.status import ApiError
from ingot.control.reach import Line
from ingot.control.volumes.gate import TRANSFERS
from ingot.control.volumes.place import START_SECONDS
from ingot.control.volumes.progress import POLL_SECONDS
from ingot.kube.client import Client
from ingot.kube.clock import timestamp
from ingot.kube.transport import ConnectionFailed


@pytest.fixture
async def world(client: Client) -> AsyncIterator[Population]:
    async with population(client) as made, populators(made):
        await made.source()
        yield made


async def broken(world: Population, ended: Object) -> tuple[Object, Object]:
    """A claim whose worker waits to be started again, while others have taken all places; and its pod."""
    claim = await world.claim("broken")
    await world.runs(claim)
    pod = await world.fails(claim, 1, ended)
    for number in range(TRANSFERS):
        await world.runs(await world.claim(f"disk-{number}"))
    return claim, pod


async def test_a_worker_that_is_started_again_while_others_transfer_waits_for_its_turn(world: Population) -> None:
    claim, pod = await broken(world, KILLED)
    await world.container(claim, "Running", 1, {"running": {}}, ready=True, lastState={"terminated": KILLED})
    await world.tells(claim, names.RUNNING_REASON, "Queued")
    await world.gone_with_pod(PODS, name_of(pod))
    assert not await world.is_gone(VOLUME_CLAIMS, names.prime_name(claim)), "what it has so far is kept"
    await world.pass_time(10)
    waiting = await world.until(
        VOLUME_CLAIMS, "broken", lambda each: "number 1 in" in each["metadata"]["annotations"].get(names.QUEUED, "")
    )
    told = waiting["metadata"]["annotations"][names.QUEUED]
    assert told.endswith(f'; it failed before: the worker in pod "{name_of(pod)}" ended with exit code 137')
    first = await world.get(VOLUME_CLAIMS, "disk-0")
    await world.succeeds(first)
    await world.binds(first)

    async def successor() -> bool:
        await world.pass_time(10)
        return uid_of(await world.get(PODS, worker_name(claim))) != uid_of(pod)

    await eventually(successor)
    await world.runs(claim)
    await world.tells(claim, names.RUNNING, "true")


async def test_a_worker_that_starts_late_while_others_transfer_waits_where_it_did_before(world: Population) -> None:
    late = await world.claim("delayed")
    pod = await world.worker(late)
    await world.pass_time(START_SECONDS + 1)
    others = [await world.claim(f"disk-{number}") for number in range(TRANSFERS)]
    for claim in others:
        await world.runs(claim)
    await world.runs(late, startedAt=timestamp(world.clock.time()))
    await world.tells(late, names.RUNNING_REASON, "Queued")
    await world.gone_with_pod(PODS, name_of(pod))
    assert not await world.is_gone(VOLUME_CLAIMS, names.prime_name(late))
    after = await world.claim("next")
    for claim, place in ((late, 1), (after, 2)):
        queue = f"number {place} in the queue: at most 4 transfers go on at once"
        await world.until(VOLUME_CLAIMS, name_of(claim), says(queue))
    await world.succeeds(others[0])
    await world.binds(others[0])
    await begins(world, late)
    assert await world.is_gone(PODS, worker_name(after))


async def test_workers_whose_secret_is_missing_keep_nobody_waiting(world: Population) -> None:
    stuck = [await world.claim(f"stuck-{number}") for number in range(TRANSFERS)]
    pods = [await world.worker(claim) for claim in stuck]
    healthy = await world.claim("healthy")
    await world.tells(healthy, names.RUNNING_REASON, "Queued")
    for claim in stuck:
        await world.not_mounted(claim, "volume 'secret': Secret ns/nosuch is not there; create it")
    await world.pass_time(3)
    await world.runs(healthy)
    await world.tells(healthy, names.RUNNING, "true")
    await world.tells(stuck[0], names.RUNNING_MESSAGE, "volume 'secret': Secret ns/nosuch is not there; create it")
    await world.runs(stuck[0])
    await world.tells(stuck[0], names.RUNNING, "true")
    assert [uid_of(await world.worker(claim)) for claim in stuck] == [uid_of(pod) for pod in pods], "they wait"


async def test_workers_without_a_volume_keep_nobody_waiting(world: Population) -> None:
    """They never start, and are not waited for as those are of which nobody knows why."""
    stuck = [await world.claim(f"stuck-{number}") for number in range(TRANSFERS)]
    for claim in stuck:
        await world.worker(claim)
    healthy = await world.claim("healthy")
    await world.tells(healthy, names.RUNNING_REASON, "Queued")
    for claim in stuck:
        await world.not_provisioned(names.prime_name(claim), "no room in the pool")
        await world.tells(claim, names.RUNNING_REASON, "ProvisioningFailed")
    await world.runs(healthy)
    await world.tells(healthy, names.RUNNING, "true")


def says(queue: str) -> Callable[[Object], bool]:
    return lambda claim: annotations(claim).get(names.QUEUED) == queue


def refuses_pods(monkeypatch: pytest.MonkeyPatch, error: Exception, claims: str) -> None:
    """The server, or somebody's webhook, takes no workers of claims whose names begin so."""
    create = Client.create

    async def guarded(self: Client, resource: Resource, obj: Object, **options: Any) -> Object:
        _, _, claim = annotations(obj).get(names.PRIME_FOR, "").partition("/")
        if resource == PODS and claim.startswith(claims):
            raise error
        return await create(self, resource, obj, **options)

    monkeypatch.setattr(Client, "create", guarded)


async def begins(world: Population, claim: Object) -> None:
    """It has a worker, once it has asked again."""

    async def look() -> bool:
        await world.pass_time(10)
        return not await world.is_gone(PODS, worker_name(claim))

    await eventually(look)


@pytest.mark.parametrize(
    "error",
    [
        ApiError(400, "BadRequest", "no pods for you"),
        ApiError(413, "RequestEntityTooLarge", "no pods for you, of that length"),
        ApiError(500, "InternalError", "failed calling webhook: no pods for you"),
    ],
    ids=lambda error: str(error.code),
)
async def test_workers_that_are_refused_keep_nobody_waiting_and_say_why(
    world: Population, monkeypatch: pytest.MonkeyPatch, error: ApiError
) -> None:
    """Four claims of one tenant stopped all transfers of a cluster for ever, and nobody was told."""
    refuses_pods(monkeypatch, error, "refused")
    refused = [await world.claim(f"refused-{number}") for number in range(TRANSFERS)]
    for claim in refused:
        told = annotations(await world.tells(claim, names.RUNNING_REASON, "FailedCreate"))
        assert told[names.RUNNING_MESSAGE].endswith(f"was refused: {error.message}; tried again in 10 s")
    await world.heard("refused-0", "FailedCreate")
    await begins(world, await world.claim("healthy"))


@pytest.mark.parametrize(
    "error",
    [ApiError(409, "Conflict", "the quota has just changed"), ConnectionFailed("s", "POST", "/", "closed", "gone")],
    ids=["conflict", "no answer"],
)
async def test_workers_that_could_not_be_made_this_time_keep_nobody_waiting(
    world: Population, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    refuses_pods(monkeypatch, error, "refused")
    for number in range(TRANSFERS):
        claim = await world.claim(f"refused-{number}")
        await world.until(VOLUME_CLAIMS, names.prime_name(claim), bool)
    await begins(world, await world.claim("healthy"))


async def test_slow_transfers_let_those_that_wait_go_on(world: Population, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four servers of a kilobyte per second kept all others waiting until the last byte."""

    async def told(_: Line) -> bytes:
        return b'{"done": 1, "total": 90000000000, "rate": 1}'

    monkeypatch.setattr("ingot.control.volumes.progress._fetch", told)
    slow = [await world.claim(f"slow-{number}") for number in range(TRANSFERS)]
    for claim in slow:
        await world.runs(claim)
        await world.pod_status(await world.worker(claim), phase="Running", ready=True, podIP="10.1.2.3")
    for claim in slow:
        await world.pass_time(POLL_SECONDS)
        await world.until(VOLUME_CLAIMS, name_of(claim), lambda each: names.PROGRESS in annotations(each))
    quick = await world.claim("quick")
    await world.tells(quick, names.RUNNING_REASON, "Queued")

    # Another has the name of one that has gone as soon as its claim is let in again.
    before = {uid_of(await world.worker(claim)): claim for claim in slow}

    async def sent_back() -> list[Object]:
        await world.pass_time(10)
        await world.end_pods()
        left = [uid_of(pod) for pod in await world.pods()]
        return [claim for uid, claim in before.items() if uid not in left]

    (one,) = await eventually(sent_back)
    assert not await world.is_gone(VOLUME_CLAIMS, names.prime_name(one)), "what it has so far is kept"


async def test_one_that_may_have_failed_for_good_has_its_few_tries(world: Population) -> None:
    claim, pod = await broken(world, last_words("NotFound", "it is not there", retry=False))
    lost = {"lastState": {"terminated": last_words("NotFound", "it is not there", retry=False)}}
    await world.container(claim, "Running", 1, {"running": {}}, ready=True, **lost)
    await world.tells(claim, names.RUNNING, "true")
    assert uid_of(await world.get(PODS, name_of(pod))) == uid_of(pod)
