"""A DataSource with two owners: only who made it is its controller, and it goes when both have gone (G4)."""

from __future__ import annotations

import pytest

from control.cron_world import CronWorld
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import CONFIG_MAPS, DATA_IMPORT_CRONS, DATA_SOURCES, DATA_VOLUMES, VOLUME_CLAIMS
from ingot.control.golden import common
from ingot.control.golden.belonging import PRIMARY, PRIMARY_TYPE
from ingot.control.golden.freshness import HELD


def reference(owner: Object, *, controller: bool) -> Object:
    told = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": name_of(owner), "uid": uid_of(owner)}
    return {**told, "controller": controller, "blockOwnerDeletion": False}


async def dangling(crons: CronWorld) -> Object:
    """Another owner, who has made the DataSource for an image that a person may import."""
    world = crons.world
    owner = await world.create(CONFIG_MAPS, {"metadata": {"name": "operator"}})
    claim = {"namespace": world.namespace, "name": "my-own"}
    metadata = {"name": "fedora", "ownerReferences": [reference(owner, controller=True)]}
    await world.create(DATA_SOURCES, {"metadata": metadata, "spec": {"source": {"pvc": claim}}})
    return owner


@pytest.mark.parametrize("first", ["cron", "other"])
async def test_one_that_was_adopted_goes_when_both_owners_have_gone(crons: CronWorld, first: str) -> None:
    world = crons.world
    other = await dangling(crons)
    cron = await crons.cron(retentionPolicy="None")
    digest = await crons.release("1")
    link = await crons.serves(digest)
    owners = [reference(other, controller=True), reference(cron, controller=False)]
    assert link["metadata"]["ownerReferences"] == owners
    await world.heard("fedora", "DataSourceAdopted")

    order = [(CONFIG_MAPS, "operator"), (DATA_IMPORT_CRONS, "fedora")]
    for resource, name in reversed(order) if first == "cron" else order:
        assert not await world.is_gone(DATA_SOURCES, "fedora")
        await world.client.delete(resource, name, world.namespace)
        await world.gone(resource, name)
    await world.gone(DATA_SOURCES, "fedora")


@pytest.mark.parametrize("first", ["cron", "other"])
async def test_one_that_the_cron_made_goes_when_both_owners_have_gone(crons: CronWorld, first: str) -> None:
    world = crons.world
    cron = await crons.cron(retentionPolicy="None")
    link = await world.until(DATA_SOURCES, "fedora", bool)
    assert link["metadata"]["ownerReferences"] == [reference(cron, controller=True)]
    other = await world.create(CONFIG_MAPS, {"metadata": {"name": "operator"}})
    owners = [*link["metadata"]["ownerReferences"], reference(other, controller=False)]
    await world.change(DATA_SOURCES, "fedora", {"metadata": {"ownerReferences": owners}})

    order = [(CONFIG_MAPS, "operator"), (DATA_IMPORT_CRONS, "fedora")]
    for resource, name in reversed(order) if first == "cron" else order:
        assert not await world.is_gone(DATA_SOURCES, "fedora")
        await world.client.delete(resource, name, world.namespace)
        await world.gone(resource, name)
    await world.gone(DATA_SOURCES, "fedora")


async def test_what_a_person_imported_is_served_until_the_first_import_and_is_never_touched(crons: CronWorld) -> None:
    world = crons.world
    await dangling(crons)
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await world.create(VOLUME_CLAIMS, {"metadata": {"name": "my-own"}, "spec": claim})
    await world.bind("my-own")
    own = await world.get(VOLUME_CLAIMS, "my-own")
    digest = crons.push("1")
    await crons.cron(importsToKeep=0)
    await crons.reason("ImportProgressing")
    await crons.told(f'DataSource "fedora" stands for claim "{world.namespace}/my-own"')
    assert (await world.get(DATA_SOURCES, "fedora"))["spec"]["source"]["pvc"]["name"] == "my-own"
    await crons.fill(crons.name_of(digest))
    await crons.serves(digest)
    await world.pass_time(60)
    await crons.reason("UpToDate")
    assert (await world.get(VOLUME_CLAIMS, "my-own"))["metadata"] == own["metadata"]


async def test_what_an_ssp_takes_back_is_not_served_and_goes(crons: CronWorld) -> None:
    world = crons.world
    cron = await crons.cron(retentionPolicy="None")
    digest = await crons.release("1")
    # As an SSP of another namespace does it, which is slow.
    marks = {PRIMARY: "elsewhere/ssp", PRIMARY_TYPE: "SSP.ssp.kubevirt.io"}
    await world.change(DATA_SOURCES, "fedora", {"metadata": {"annotations": marks}})
    finalizers = (await world.get(DATA_IMPORT_CRONS, name_of(cron)))["metadata"]["finalizers"]
    await world.change(DATA_IMPORT_CRONS, "fedora", {"metadata": {"finalizers": [*finalizers, HELD]}})
    await world.client.delete(DATA_IMPORT_CRONS, "fedora", world.namespace)
    try:
        await world.until(DATA_SOURCES, "fedora", lambda each: not each["metadata"].get("ownerReferences"))
        assert await crons.imports() == {crons.name_of(digest)}
        await world.change(DATA_SOURCES, "fedora", {"spec": common.dangling("fedora")})
    finally:
        left = (await world.get(DATA_IMPORT_CRONS, "fedora"))["metadata"]["finalizers"]
        kept = [each for each in left if each != HELD]
        await world.change(DATA_IMPORT_CRONS, "fedora", {"metadata": {"finalizers": kept}})
    await world.gone(DATA_IMPORT_CRONS, "fedora")
    await world.gone(DATA_VOLUMES, crons.name_of(digest))


async def test_a_datasource_that_never_had_an_import_goes_with_the_cron_that_made_it(crons: CronWorld) -> None:
    world = crons.world
    await world.create(DATA_SOURCES, {"metadata": {"name": "mine"}, "spec": {"source": {}}})
    await crons.cron()
    await crons.cron("other", managedDataSource="mine")
    await crons.reason("Unreachable")
    await crons.reason("Unreachable", "other")
    assert not await world.is_gone(DATA_SOURCES, "fedora")
    await crons.clear()
    await world.gone(DATA_SOURCES, "fedora")
    left = await world.get(DATA_SOURCES, "mine")
    assert not left["metadata"].get("ownerReferences")
