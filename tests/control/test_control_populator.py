"""Claims that are filled, on a real API server: step by step, and what becomes of it when something goes wrong (G1)."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from control.population import KILLED, Population, annotations, last_words, population, populators, worker_name
from eventual import eventually
from ingot.api.cdi import names
from ingot.api.object import name_of, namespace_of, uid_of
from ingot.api.resources import CDI_CONFIGS, IMPORT_SOURCES, NAMESPACES, PODS, VOLUME_CLAIMS, VOLUMES
from ingot.control.outfit import of_cluster
from ingot.control.volumes.gate import TRANSFERS
from ingot.control.volumes.outcome import COUNTED_FROM
from ingot.kube.client import Client
from ingot.kube.objects import controller_of


@pytest.fixture
async def world(client: Client) -> AsyncIterator[Population]:
    async with population(client) as made, populators(made):
        yield made


@pytest.fixture
async def idle(client: Client) -> AsyncIterator[Population]:
    """Nobody at work."""
    async with population(client) as made:
        yield made


async def test_a_claim_is_bound_when_its_prime_is_filled_and_nothing_is_left(world: Population) -> None:
    await world.source()
    claim = await world.claim()
    pod = await world.worker(claim)
    prime = await world.get(VOLUME_CLAIMS, names.prime_name(claim))
    assert (controller_of(prime) or {})["uid"] == uid_of(claim)
    assert (controller_of(pod) or {})["uid"] == uid_of(prime)
    assert "dataSourceRef" not in prime["spec"]

    await world.runs(claim)
    told = annotations(await world.tells(claim, names.RUNNING, "true"))
    assert told[names.POD_PHASE] == "Running"
    assert told[names.POD_NAME] == name_of(pod)

    await world.succeeds(claim)
    volume = await world.given(claim)
    reference = volume["spec"]["claimRef"]
    assert (reference["namespace"], reference["name"]) == (namespace_of(claim), "disk")
    assert not await world.is_gone(VOLUME_CLAIMS, names.prime_name(claim)), "until the claim is bound"
    told = annotations(await world.tells(claim, names.RUNNING_REASON, "RebindInProgress"))
    assert told[names.POD_PHASE] == "Running"
    assert json.loads(told[names.PROGRESS])["done"] == 7

    await world.binds(claim)
    await world.tells(claim, names.POD_PHASE, "Succeeded")
    await world.nothing_left(claim)
    for reason in ("ImportScheduled", "ImportInProgress", "ImportSucceeded"):
        await world.heard("disk", reason)
    assert uid_of(claim) == (await world.client.get(VOLUMES, name_of(volume)))["spec"]["claimRef"]["uid"]


@pytest.mark.parametrize("step", range(7))
async def test_the_controller_may_be_killed_after_every_step(idle: Population, step: int) -> None:
    await idle.source()
    claim = await idle.claim()
    steps: list[Callable[[], Awaitable[object]]] = [
        lambda: idle.worker(claim),
        lambda: idle.runs(claim),
        lambda: idle.tells(claim, names.RUNNING, "true"),
        lambda: idle.succeeds(claim),
        lambda: idle.given(claim),
        lambda: idle.binds(claim),
        lambda: idle.tells(claim, names.POD_PHASE, "Succeeded"),
    ]
    async with populators(idle):
        for each in steps[: step + 1]:
            await each()
    async with populators(idle):
        for each in steps[step + 1 :]:
            await each()
        await idle.nothing_left(claim)
    assert len([each for each in await idle.pods() if name_of(each) == worker_name(claim)]) == 0


async def test_a_claim_tells_what_it_holds_before_it_is_bound(world: Population) -> None:
    """G2: a copy of it reads its files, and looks for no disk."""
    spec = {"source": {"http": {"url": "http://far/files.tar"}}, "contentType": "archive"}
    await world.create(IMPORT_SOURCES, {"metadata": {"name": "source"}, "spec": spec})
    claim = await world.claim()
    await world.worker(claim)
    told = await world.tells(claim, names.CONTENT_TYPE, "archive")
    assert not told["spec"].get("volumeName")


async def test_what_was_filled_while_the_controller_was_away_tells_what_it_holds(idle: Population) -> None:
    spec = {"source": {"http": {"url": "http://far/files.tar"}}, "contentType": "archive"}
    await idle.create(IMPORT_SOURCES, {"metadata": {"name": "source"}, "spec": spec})
    claim = await idle.claim()
    async with populators(idle):
        await idle.worker(claim)
    gone = {"metadata": {"annotations": {names.CONTENT_TYPE: None, names.RUNNING: None}}}
    await idle.change(VOLUME_CLAIMS, "disk", gone)
    await idle.succeeds(claim)
    async with populators(idle):
        await idle.binds(claim)
        await idle.tells(claim, names.CONTENT_TYPE, "archive")


async def test_what_the_cluster_wishes_of_workers_is_granted(idle: Population) -> None:
    await idle.source()
    spec = {"imagePullSecrets": [{"name": "pull"}], "podResourceRequirements": {"requests": {"cpu": "2"}}}
    kind = {"apiVersion": CDI_CONFIGS.api_version, "kind": CDI_CONFIGS.kind}
    await idle.client.create(CDI_CONFIGS, {**kind, "metadata": {"name": "config"}, "spec": spec})
    try:
        async with populators(idle):
            pod = await idle.worker(await idle.claim())
    finally:
        await idle.client.delete(CDI_CONFIGS, "config")
    assert pod["spec"]["imagePullSecrets"] == [{"name": "pull"}]
    assert pod["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "2", "memory": "128Mi"}


async def test_a_missing_source_is_named_and_waited_for(world: Population) -> None:
    claim = await world.claim()
    # Not at once: it may just be made.
    await world.clock.advance(5)
    told = annotations(await world.tells(claim, names.RUNNING_REASON, "SourceNotFound"))
    assert 'VolumeImportSource "source"' in told[names.RUNNING_MESSAGE]
    await world.heard("disk", "SourceNotFound")
    assert await world.is_gone(VOLUME_CLAIMS, names.prime_name(claim))
    await world.source()
    await world.worker(claim)


async def test_a_delayed_claim_is_filled_where_its_first_consumer_is(world: Population) -> None:
    storage_class = await world.delayed_class()
    await world.source()
    claim = await world.claim(storage_class=storage_class)
    await world.tells(claim, names.RUNNING_REASON, "WaitForFirstConsumer")
    assert await world.is_gone(VOLUME_CLAIMS, names.prime_name(claim))
    chosen = {"metadata": {"annotations": {names.SELECTED_NODE: "here"}}}
    await world.change(VOLUME_CLAIMS, "disk", chosen)
    await world.worker(claim)
    prime = await world.get(VOLUME_CLAIMS, names.prime_name(claim))
    assert annotations(prime)[names.SELECTED_NODE] == "here"

    eager = await world.claim("eager", storage_class=storage_class, annotations={names.IMMEDIATE: "true"})
    await world.worker(eager)


async def test_a_class_that_is_not_there_is_named_and_waited_for(world: Population) -> None:
    await world.source()
    claim = await world.claim(storage_class=f"late-{world.namespace}", annotations={names.IMMEDIATE: "true"})
    told = annotations(await world.tells(claim, names.RUNNING_REASON, "StorageClassNotFound"))
    assert f'"late-{world.namespace}" is not there' in told[names.RUNNING_MESSAGE]
    assert await world.is_gone(VOLUME_CLAIMS, names.prime_name(claim))
    await world.delayed_class()
    await world.worker(claim)


async def test_what_the_provisioner_says_of_the_prime_is_told_of_the_claim(world: Population) -> None:
    await world.source()
    claim = await world.claim()
    await world.worker(claim)
    why = "the filesystem holds 270553174016 in all: ask for less"
    await world.not_provisioned(names.prime_name(claim), why)
    told = annotations(await world.tells(claim, names.RUNNING_REASON, "ProvisioningFailed"))
    assert told[names.RUNNING_MESSAGE] == f"{why}; tried again"
    assert names.FAILURE not in told
    await world.heard("disk", "ProvisioningFailed")
    # A larger disk has come: what was said is over.
    await world.bind(names.prime_name(claim))
    await world.runs(claim)
    await world.tells(claim, names.RUNNING, "true")


async def test_what_cannot_heal_fails_for_good_after_three_restarts(world: Population) -> None:
    await world.source(http={"url": "http://127.0.0.1:1/disk.img"})
    claim = await world.claim()
    final = last_words("NotFound", "http://127.0.0.1:1/disk.img: 404", retry=False)
    await world.fails(claim, 0, final)
    told = annotations(await world.tells(claim, names.RUNNING_REASON, "NotFound"))
    assert told[names.RUNNING_MESSAGE].endswith("tried again")
    assert names.FAILURE not in told
    await world.heard("disk", "NotFound")

    await world.fails(claim, 3, final)
    failed = await world.tells(claim, names.POD_PHASE, "Failed")
    failure = json.loads(annotations(failed)[names.FAILURE])
    assert failure["reason"] == "NotFound"
    assert failure["message"].endswith("final")
    await world.nothing_left(claim)
    await world.heard("disk", "ImportFailed")
    # A change of the claim does not make it begin anew.
    await world.change(VOLUME_CLAIMS, "disk", {"metadata": {"labels": {"seen": "true"}}})
    other = await world.claim("other")
    await world.worker(other)
    assert await world.is_gone(VOLUME_CLAIMS, names.prime_name(claim))


async def test_what_may_heal_is_tried_on_and_its_restarts_are_told(world: Population) -> None:
    await world.source(http={"url": "http://127.0.0.1:1/disk.img"})
    claim = await world.claim()
    await world.fails(claim, 40, last_words("Unreachable", "no answer", retry=True))
    told = annotations(await world.tells(claim, names.POD_RESTARTS, "40"))
    assert told[names.RUNNING_MESSAGE] == "no answer; tried again"
    await world.fails(claim, 41, KILLED)
    told = annotations(await world.tells(claim, names.POD_RESTARTS, "41"))
    assert names.FAILURE not in told
    await world.runs(claim, 42)
    await world.tells(claim, names.RUNNING, "true")


@pytest.mark.parametrize("moment", ["queued", "running", "filled"])
async def test_a_claim_that_is_deleted_in_the_middle_leaves_nothing(world: Population, moment: str) -> None:
    await world.source()
    claim = await world.claim()
    await world.worker(claim)
    if moment != "queued":
        await world.runs(claim)
        await world.tells(claim, names.RUNNING, "true")
    if moment == "filled":
        await world.succeeds(claim)
        await world.given(claim)
    await world.discard(claim)
    await world.nothing_left(claim)


async def test_a_claim_deleted_while_nobody_looked_leaves_nothing(idle: Population) -> None:
    await idle.source()
    claim = await idle.claim()
    async with populators(idle):
        await idle.runs(claim)
    await idle.discard(claim)
    again = await idle.claim()
    async with populators(idle):
        await idle.nothing_left(claim)
        await idle.worker(again)


async def test_so_many_at_once_and_the_others_in_their_order(world: Population) -> None:
    await world.source()
    claims = [await world.claim(f"disk-{index}") for index in range(TRANSFERS + 2)]

    async def workers() -> list[str] | None:
        found = sorted(annotations(pod)[names.PRIME_FOR].partition("/")[2] for pod in await world.pods())
        return found if len(found) >= TRANSFERS else None

    queued = [each for each in claims if each]

    async def waiting() -> list[str] | None:
        found = [await world.get(VOLUME_CLAIMS, name_of(each)) for each in queued]
        names_ = [name_of(each) for each in found if names.QUEUED in annotations(each)]
        return names_ if len(names_) == 2 else None

    late = await eventually(waiting)
    running = await eventually(workers)
    assert len(running) == TRANSFERS
    assert set(late) | set(running) == {name_of(each) for each in claims}
    first = next(each for each in claims if name_of(each) == running[0])
    await world.succeeds(first)
    await world.binds(first)

    async def one_more() -> bool:
        return len([each for each in claims if not await world.is_gone(PODS, worker_name(each))]) >= TRANSFERS and (
            not await world.is_gone(PODS, worker_name(next(e for e in claims if name_of(e) == min(late))))
        )

    await eventually(one_more)
    await world.tells(next(each for each in claims if name_of(each) == min(late)), names.QUEUED, None)


async def test_a_prime_that_is_lost_is_made_anew(world: Population) -> None:
    await world.source()
    claim = await world.claim()
    await world.runs(claim)
    former = await world.get(VOLUME_CLAIMS, names.prime_name(claim))
    await world.write(VOLUME_CLAIMS, name_of(former), {"phase": "Lost"})

    async def successor() -> bool:
        await world.end_pods()
        await world.let_go_of(name_of(former))
        found = await world.get(VOLUME_CLAIMS, name_of(former))
        return uid_of(found) != uid_of(former) and not await world.is_gone(PODS, worker_name(claim))

    await eventually(successor)


async def test_a_pod_that_is_evicted_is_replaced_after_a_while(world: Population) -> None:
    await world.source()
    claim = await world.claim()
    pod = await world.worker(claim)
    await world.pod_status(pod, phase="Failed", reason="Evicted", message="low on memory")
    told = annotations(await world.tells(claim, names.RUNNING_REASON, "Evicted"))
    assert told[names.POD_PHASE] == "Failed"
    assert not await world.is_gone(PODS, name_of(pod))

    async def successor() -> bool:
        await world.pass_time(10)
        await world.end_pods()
        return uid_of(await world.get(PODS, name_of(pod))) != uid_of(pod)

    await eventually(successor)


@pytest.mark.parametrize("where", ["elsewhere", "here"])
async def test_a_pod_that_only_says_that_it_is_the_worker_fills_nothing(
    world: Population, client: Client, where: str
) -> None:
    """G1: nothing half there is ever bound, whatever pods others make."""
    await world.source()
    claim = await world.claim()
    former = await world.runs(claim)
    await world.bind(names.prime_name(claim))
    async with population(client) as other:
        namespace = world.namespace if where == "here" else other.namespace
        liar = await world.pretender(claim, namespace, "aaa")
        try:
            await world.client.delete(PODS, name_of(former), world.namespace)

            async def successor() -> bool:
                await world.end_pods()
                return uid_of(await world.get(PODS, name_of(former))) != uid_of(former)

            await eventually(successor)
            await world.runs(claim)
            await world.tells(claim, names.RUNNING, "true")
            volume = await world.client.get(VOLUMES, f"{world.namespace}-{names.prime_name(claim)}")
            assert volume["spec"]["claimRef"]["uid"] != uid_of(claim)
        finally:
            await client.patch(PODS, name_of(liar), {"metadata": {"finalizers": None}}, namespace)


async def test_a_volume_that_was_let_go_of_is_not_given(world: Population) -> None:
    """Its files may be gone by then."""
    await world.source()
    claim = await world.claim()
    prime = await world.until(VOLUME_CLAIMS, names.prime_name(claim), bool)
    await world.bind(name_of(prime))
    await world.client.patch(
        VOLUMES, f"{world.namespace}-{name_of(prime)}", {"status": {"phase": "Released"}}, subresource="status"
    )
    await world.succeeds(claim, bound=True)
    told = annotations(await world.tells(claim, names.RUNNING_REASON, "RebindInProgress"))
    assert "is gone, and its volume" in told[names.RUNNING_MESSAGE]
    volume = await world.client.get(VOLUMES, f"{world.namespace}-{name_of(prime)}")
    assert volume["spec"]["claimRef"]["uid"] == uid_of(prime)


async def test_a_prime_that_another_writes_to_is_not_given(world: Population) -> None:
    """G1: what is bound is what was verified."""
    await world.source()
    claim = await world.claim()
    await world.runs(claim)
    await world.meddler(claim)
    await world.succeeds(claim)
    told = annotations(await world.tells(claim, names.RUNNING_REASON, "PrimeInUse"))
    assert 'pod "meddler"' in told[names.RUNNING_MESSAGE]
    await world.client.delete(PODS, "meddler", world.namespace, grace_period=0)

    async def given() -> bool:
        await world.pass_time(5)
        found = await world.client.get(VOLUMES, f"{world.namespace}-{names.prime_name(claim)}")
        return bool(found["spec"]["claimRef"]["uid"] == uid_of(claim))

    await eventually(given)


async def test_a_pod_that_the_server_refuses_is_told_and_tried_again(world: Population) -> None:
    await world.source()
    claim = await world.claim(annotations={names.PRIORITY_CLASS: "nobody-has-that"})
    told = annotations(await world.tells(claim, names.RUNNING_REASON, "FailedCreate"))
    assert "nobody-has-that" in told[names.RUNNING_MESSAGE]
    assert "tried again in 10 s" in told[names.RUNNING_MESSAGE]


async def test_workers_of_a_cluster_suit_a_namespace_that_is_restricted(idle: Population) -> None:
    """kube-apiserver refuses others; one machine has no such guard, and takes the same pods."""
    enforced = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    await idle.client.patch(NAMESPACES, idle.namespace, enforced)
    secrets = {"secretRef": "login", "certConfigMap": "authority", "secretExtraHeaders": ["word"]}
    await idle.source(http={"url": "https://127.0.0.1:1/disk", "extraHeaders": ["X: 1"], **secrets})
    async with populators(idle, of_cluster("example.com/ingot:1")):
        pod = await idle.worker(await idle.claim())
    context = pod["spec"]["securityContext"]
    assert (context["runAsNonRoot"], context["runAsUser"], context["fsGroup"]) == (True, 107, 107)


async def test_a_claim_in_the_primes_place_is_not_taken_for_it(world: Population) -> None:
    claim = await world.claim()
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": ""}
    metadata = {"name": names.prime_name(claim), "annotations": {names.PRIME_FOR: f"{world.namespace}/disk"}}
    await world.create(VOLUME_CLAIMS, {"metadata": metadata, "spec": wanted})
    await world.source()
    told = annotations(await world.tells(claim, names.RUNNING_REASON, "NameTaken"))
    assert names.prime_name(claim) in told[names.RUNNING_MESSAGE]
    assert await world.is_gone(PODS, worker_name(claim))


async def test_a_claim_that_was_bound_to_another_volume_is_not_taken_for_filled(world: Population) -> None:
    await world.source()
    claim = await world.claim()
    await world.worker(claim)
    await world.binds_to_another(claim)
    failed = await world.tells(claim, names.POD_PHASE, "Failed")
    assert json.loads(annotations(failed)[names.FAILURE])["reason"] == "ForeignVolume"
    await world.nothing_left(claim)


async def test_a_claim_of_a_backup_that_tells_that_it_is_filled_is_believed(world: Population) -> None:
    await world.source()
    claim = await world.claim(annotations={names.POD_PHASE: "Succeeded"})
    await world.binds_to_another(claim)
    await world.tells(claim, names.RUNNING_REASON, "Completed")
    assert names.FAILURE not in annotations(await world.get(VOLUME_CLAIMS, "disk"))


async def test_failures_that_cannot_heal_count_anew_after_one_that_can(world: Population) -> None:
    await world.source(http={"url": "http://127.0.0.1:1/disk.img"})
    claim = await world.claim()
    await world.fails(claim, 10, last_words("Unreachable", "no answer", retry=True))
    await world.until(PODS, worker_name(claim), lambda pod: annotations(pod).get(COUNTED_FROM) == "11")
    final = last_words("NotFound", "404", retry=False)
    await world.fails(claim, 11, final)
    told = annotations(await world.tells(claim, names.RUNNING_REASON, "NotFound"))
    assert "restart 1 of 3, tried again" in told[names.RUNNING_MESSAGE]
    await world.fails(claim, 14, final)
    await world.tells(claim, names.POD_PHASE, "Failed")


async def test_pods_are_kept_for_those_who_ask_for_it(world: Population) -> None:
    await world.source()
    claim = await world.claim(annotations={names.RETAIN_POD: "true"})
    await world.runs(claim)
    await world.succeeds(claim)
    await world.binds(claim)
    await world.tells(claim, names.POD_PHASE, "Succeeded")
    other = await world.claim("other")
    await world.worker(other)
    assert not await world.is_gone(PODS, worker_name(claim))
    await world.discard(claim)
    await world.nothing_left(claim)
