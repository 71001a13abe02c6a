"""Old versions go when newer ones have replaced them, and never while somebody needs them (G3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import time

import pytest

from control.cron_world import CLAIM, CronWorld, cron_controllers
from control.world import World, instance, machine
from ingot.api.cdi import names
from ingot.api.object import Object, uid_of
from ingot.api.resource import Resource
from ingot.api.resources import (
    CLASSIC_VMS,
    CLONE_SOURCES,
    DATA_IMPORT_CRONS,
    DATA_SOURCES,
    DATA_VOLUMES,
    INSTANCES,
    MACHINES,
    PODS,
    REPLICA_SETS,
    SNAPSHOTS,
    VOLUME_CLAIMS,
)
from ingot.control.golden.crons import Crons
from ingot.control.golden.polls import Polls

# What a version is deleted after that the DataSource has left.
GRACE = 11.0


async def versions(crons: CronWorld, *names: str) -> list[str]:
    """These are published and served one after the other; the names of their imports."""
    found = []
    for name in names:
        found.append(crons.name_of(await crons.release(name)))
        await crons.world.pass_time(1)
    return found


async def test_three_versions_are_kept_unless_it_is_said_otherwise(crons: CronWorld) -> None:
    world = crons.world
    await crons.cron()
    found = await versions(crons, "1", "2", "3", "4")
    assert await crons.imports() == set(found)
    await world.pass_time(GRACE)
    await crons.until_imports(lambda left: {"done"} if left == set(found[1:]) else set())
    await world.heard("fedora", "ImportDeleted")
    await world.end_claims()
    await world.gone(VOLUME_CLAIMS, found[0])


async def test_all_are_kept_where_nothing_is_to_be_collected_and_one_where_none_is_to_be_kept(crons: CronWorld) -> None:
    world = crons.world
    await crons.cron(garbageCollect="Never", importsToKeep=1)
    kept = await versions(crons, "1", "2")
    await crons.clear()
    # What the first has imported is the second's, which has its name.
    await crons.cron(importsToKeep=0)
    (new,) = await versions(crons, "3")
    assert await crons.imports() == {*kept, new}
    await world.pass_time(GRACE)
    await crons.until_imports(lambda left: {"done"} if left == {new} else set())


def mounted(claim: str) -> Object:
    return {"name": "root", "persistentVolumeClaim": {"claimName": claim}}


async def _machine(crons: CronWorld, claim: str) -> tuple[Resource, str]:
    await crons.world.create(MACHINES, machine("user", "Halted", {"name": "root", "dataVolume": {"name": claim}}))
    return MACHINES, "user"


async def _set(crons: CronWorld, claim: str) -> tuple[Resource, str]:
    """Of no machines at present."""
    template = {"metadata": {"labels": {"app": "web"}}, "spec": instance("user", mounted(claim))["spec"]}
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    await crons.world.create(REPLICA_SETS, {"metadata": {"name": "user"}, "spec": spec})
    return REPLICA_SETS, "user"


async def _classic(crons: CronWorld, claim: str) -> tuple[Resource, str]:
    """The seed's `kind: VM`."""
    await crons.world.create(CLASSIC_VMS, instance("user", mounted(claim)))
    return CLASSIC_VMS, "user"


async def _overlay(crons: CronWorld, claim: str) -> tuple[Resource, str]:
    below = {"name": "root", "ephemeral": {"persistentVolumeClaim": {"claimName": claim}}}
    await crons.world.create(INSTANCES, instance("user", below))
    return INSTANCES, "user"


async def _volume(crons: CronWorld, claim: str) -> tuple[Resource, str]:
    source = {"pvc": {"namespace": crons.world.namespace, "name": claim}}
    await crons.world.create(DATA_VOLUMES, {"metadata": {"name": "user"}, "spec": {"source": source, "pvc": CLAIM}})
    return DATA_VOLUMES, "user"


async def _clone(crons: CronWorld, claim: str) -> tuple[Resource, str]:
    source = {"kind": VOLUME_CLAIMS.kind, "name": claim}
    await crons.world.create(CLONE_SOURCES, {"metadata": {"name": "user"}, "spec": {"source": source}})
    return CLONE_SOURCES, "user"


async def _prime(crons: CronWorld, claim: str) -> tuple[Resource, str]:
    """A claim that the storage itself is to fill from another."""
    spec = {**CLAIM, "dataSource": {"kind": VOLUME_CLAIMS.kind, "name": claim}, "storageClassName": "none"}
    await crons.world.create(VOLUME_CLAIMS, {"metadata": {"name": "user"}, "spec": spec})
    return VOLUME_CLAIMS, "user"


async def _snapshot(crons: CronWorld, claim: str) -> tuple[Resource, str]:
    spec = {"source": {"persistentVolumeClaimName": claim}}
    await crons.world.create(SNAPSHOTS, {"metadata": {"name": "user"}, "spec": spec})
    return SNAPSHOTS, "user"


async def _link(crons: CronWorld, claim: str) -> tuple[Resource, str]:
    source = {"pvc": {"namespace": crons.world.namespace, "name": claim}}
    await crons.world.create(DATA_SOURCES, {"metadata": {"name": "user"}, "spec": {"source": source}})
    return DATA_SOURCES, "user"


async def _pod(crons: CronWorld, claim: str) -> tuple[Resource, str]:
    container = {"name": "main", "image": "example.com/any"}
    spec = {"containers": [container], "volumes": [mounted(claim)], "nodeName": crons.world.far}
    await crons.world.create(PODS, {"metadata": {"name": "user"}, "spec": spec})
    return PODS, "user"


USES = [_machine, _set, _classic, _overlay, _volume, _clone, _prime, _snapshot, _link, _pod]


async def let_go(world: World, resource: Resource, name: str) -> None:
    """Whoever uses a version goes, and it is known."""
    grace = {"grace_period": 0} if resource == PODS else {}
    await world.client.delete(resource, name, world.namespace, **grace)
    await world.end_claims()
    await world.gone(resource, name)
    if resource == PODS:
        # Pods of strangers are looked for once a minute.
        await world.pass_time(61)


@pytest.mark.parametrize("use", USES)
async def test_a_version_that_is_in_use_stays_and_goes_after_that(
    crons: CronWorld, use: Callable[[CronWorld, str], Awaitable[tuple[Resource, str]]]
) -> None:
    world = crons.world
    await crons.cron(importsToKeep=1)
    free, held, _ = await versions(crons, "free", "held", "newest")
    resource, name = await use(crons, held)
    if resource == VOLUME_CLAIMS:
        # The server says nothing of it, and nobody is about to fill it.
        await world.until(VOLUME_CLAIMS, name, bool)
    await crons.look()
    await world.pass_time(GRACE)
    await world.gone(DATA_VOLUMES, free)
    assert held in await crons.imports()
    await let_go(world, resource, name)
    await world.gone(DATA_VOLUMES, held)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("ends", [False, True], ids=["overtaken", "cron-deleted"])
async def test_an_import_under_way_that_somebody_waits_for_stays_and_goes_after_that(
    crons: CronWorld, use: Callable[[CronWorld, str], Awaitable[tuple[Resource, str]]], ends: bool
) -> None:
    world = crons.world
    await crons.cron()
    first = await crons.release("1")
    held = crons.name_of(crons.push("2"))
    await crons.look()
    await crons.reason("ImportProgressing")
    resource, name = await use(crons, held)
    await crons.look()
    if ends:
        await world.client.delete(DATA_IMPORT_CRONS, "fedora", world.namespace)
        told = await crons.reason("Deleting")
        assert f'in "{held}", is used by {resource.kind} "{world.namespace}/user": it goes when' in told["message"]
    else:
        crons.push("1")
        await crons.look()
        await crons.reason("UpToDate")
    assert held in await crons.imports()
    await let_go(world, resource, name)
    await world.gone(DATA_VOLUMES, held)
    assert await crons.imports() == {crons.name_of(first)}
    if ends:
        await world.gone(DATA_IMPORT_CRONS, "fedora")


@pytest.mark.parametrize("use", [_machine, _volume])
async def test_an_import_that_has_failed_is_tried_again_whoever_waits_for_it(
    crons: CronWorld, use: Callable[[CronWorld, str], Awaitable[tuple[Resource, str]]]
) -> None:
    world, digest = crons.world, crons.push("1")
    await crons.cron()
    name = crons.name_of(digest)
    await crons.fail(name)
    await crons.reason("ImportFailed")
    failed = await world.get(DATA_VOLUMES, name)
    await use(crons, name)
    await world.pass_time(10)
    await crons.look()
    await world.until(DATA_VOLUMES, name, lambda each: uid_of(each) != uid_of(failed))
    await crons.fill_anew(name)
    await crons.serves(digest)


async def test_an_overtaken_import_that_is_waited_for_tells_by_whom(crons: CronWorld) -> None:
    world, bad = crons.world, crons.push("bad")
    await crons.cron()
    name = crons.name_of(bad)
    await crons.fail(name)
    await crons.reason("ImportFailed")
    await _machine(crons, name)
    await crons.look()
    await crons.release("good")
    await crons.event("ImportHeld", f'is used by VirtualMachine "{world.namespace}/user"', "Warning")
    assert name in await crons.imports()
    await world.client.delete(MACHINES, "user", world.namespace)
    await world.gone(DATA_VOLUMES, name)


async def test_an_import_that_is_waited_for_leaves_its_deleted_cron_alone_once_it_is_complete(crons: CronWorld) -> None:
    world = crons.world
    await crons.cron()
    held = crons.name_of(crons.push("1"))
    await crons.look()
    await crons.reason("ImportProgressing")
    await _machine(crons, held)
    await crons.look()
    await world.client.delete(DATA_IMPORT_CRONS, "fedora", world.namespace)
    await crons.reason("Deleting")
    await crons.fill(held)
    await world.gone(DATA_IMPORT_CRONS, "fedora")
    assert await crons.imports() == {held}


async def test_a_version_whose_status_is_lost_while_nobody_is_at_work_stays(golden_bare: CronWorld) -> None:
    """As after a backup was restored, which has no status."""
    crons, world = golden_bare, golden_bare.world
    async with cron_controllers(world.client, world.clock):
        await crons.cron()
        found = await versions(crons, "1", "2")
        await _machine(crons, found[0])
    before = uid_of(await world.get(DATA_VOLUMES, found[0]))
    await world.write(DATA_VOLUMES, found[0], {"phase": None, "conditions": None})
    # Those who would write it anew come later.
    async with cron_controllers(world.client, world.clock, (Polls, Crons)):
        await crons.look()
        await crons.reason("UpToDate")
        await crons.annotate(fruit="apple")
        await world.pass_time(GRACE)
    async with cron_controllers(world.client, world.clock):
        await world.until(DATA_VOLUMES, found[0], lambda volume: volume["status"].get("phase") == "Succeeded")
        assert uid_of(await world.get(DATA_VOLUMES, found[0])) == before
        await crons.clear()


@pytest.mark.parametrize("note", [{names.POD_PHASE: None}, {names.FAILURE: "{}", names.POD_PHASE: None}])
async def test_a_version_whose_claim_somebody_writes_on_stays(crons: CronWorld, note: dict[str, str | None]) -> None:
    world = crons.world
    await crons.cron()
    found = await versions(crons, "1", "2")
    before = [uid_of(await world.get(DATA_VOLUMES, each)) for each in found]
    for each in found:
        await world.change(VOLUME_CLAIMS, each, {"metadata": {"annotations": note}})
        await world.until(DATA_VOLUMES, each, lambda volume: volume["status"]["phase"] != "Succeeded")
    await world.pass_time(GRACE)
    await crons.look()
    assert [uid_of(await world.get(DATA_VOLUMES, each)) for each in found] == before
    assert await crons.imports() == set(found)


async def test_deleting_the_cron_keeps_what_is_complete_and_leaves_nothing_else(crons: CronWorld) -> None:
    world = crons.world
    await crons.cron()
    first = await crons.release("1")
    second = crons.push("2")
    await crons.look()
    await crons.reason("ImportProgressing")
    await world.client.delete(DATA_IMPORT_CRONS, "fedora", world.namespace)
    await world.gone(DATA_IMPORT_CRONS, "fedora")
    assert await crons.imports() == {crons.name_of(first)}
    link = await crons.serves(first)
    assert not link["metadata"].get("ownerReferences")
    # The next cron of that name goes on with it.
    await crons.cron()
    await crons.fill_anew(crons.name_of(second))
    await crons.serves(second)
    link = await world.get(DATA_SOURCES, "fedora")
    assert [each["controller"] for each in link["metadata"]["ownerReferences"]] == [False]


async def test_with_retention_none_all_goes_and_what_is_in_use_first(crons: CronWorld) -> None:
    world = crons.world
    await crons.cron(retentionPolicy="None")
    (held,) = await versions(crons, "1")
    await _machine(crons, held)
    await crons.look()
    await world.client.delete(DATA_IMPORT_CRONS, "fedora", world.namespace)
    await world.heard("fedora", "ImportHeld")
    told = await crons.reason("Deleting")
    assert f'in "{held}", is used by VirtualMachine "{world.namespace}/user": it goes when' in told["message"]
    assert held in await crons.imports()
    await world.client.delete(MACHINES, "user", world.namespace)
    await world.gone(DATA_IMPORT_CRONS, "fedora")
    await world.gone(DATA_VOLUMES, held)
    await world.gone(DATA_SOURCES, "fedora")


async def test_with_retention_none_versions_go_when_those_who_have_begun_to_clone_them_are_known(
    crons: CronWorld,
) -> None:
    world = crons.world
    await crons.cron(retentionPolicy="None")
    found = await versions(crons, "1", "2")
    # The server tells by its own clock when something was deleted.
    world.clock.put_forward(time() - world.clock.time())
    await world.client.delete(DATA_IMPORT_CRONS, "fedora", world.namespace)
    told = await crons.reason("Deleting")
    assert "its versions go 10 s after that" in told["message"]
    assert await crons.imports() == set(found)
    await world.pass_time(2 * GRACE)
    await world.gone(DATA_IMPORT_CRONS, "fedora")
    assert await crons.imports() == set()


async def test_with_retention_none_what_another_cron_takes_over_goes_on_being_served(crons: CronWorld) -> None:
    world = crons.world
    await crons.cron(retentionPolicy="None")
    old, served = await versions(crons, "1", "2")
    digest = (await world.get(DATA_VOLUMES, served))["metadata"]["annotations"][names.DESIRED_DIGEST]
    before = await crons.serves(digest)
    # It finds nothing to import.
    nowhere = {"spec": {"source": {"registry": {"url": f"docker://{crons.repository}/none:latest"}}, "pvc": CLAIM}}
    await crons.cron("second", template=nowhere)
    await crons.reason("Conflict", "second")
    await world.client.delete(DATA_IMPORT_CRONS, "fedora", world.namespace)
    await world.gone(DATA_IMPORT_CRONS, "fedora")
    await world.gone(DATA_VOLUMES, old)
    link = await world.until(
        DATA_SOURCES, "fedora", lambda each: each["metadata"]["labels"][names.IMPORT_CRON] == "second"
    )
    assert (uid_of(link), link["spec"]) == (uid_of(before), before["spec"])
    assert await crons.imports() == {served}
    await crons.reason("Unreachable", "second")
    await crons.serves(digest)


async def test_with_retention_none_a_datasource_that_somebody_keeps_stays_with_what_it_stands_for(
    crons: CronWorld,
) -> None:
    world = crons.world
    await crons.cron(retentionPolicy="None")
    old, served = await versions(crons, "1", "2")
    await world.change(DATA_SOURCES, "fedora", {"metadata": {"labels": {names.IMPORT_CRON: None}}})
    await crons.reason("Unmanaged")
    await world.client.delete(DATA_IMPORT_CRONS, "fedora", world.namespace)
    await world.gone(DATA_IMPORT_CRONS, "fedora")
    await world.gone(DATA_VOLUMES, old)
    assert await crons.imports() == {served}
    link = await world.get(DATA_SOURCES, "fedora")
    assert (link["spec"]["source"]["pvc"]["name"], link["metadata"].get("ownerReferences") or []) == (served, [])
