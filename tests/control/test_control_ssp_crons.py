"""An SSP and the controllers of crons on the same DataSources: who owns them, and what they stand for (G4, G5)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest

from control.cron_world import HOURLY, CronWorld
from control.golden_world import Golden, at_work
from eventual import eventually
from ingot.api.cdi import names
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import DATA_IMPORT_CRONS, DATA_SOURCES, DATA_VOLUMES, SSPS
from ingot.api.status import ApiError
from ingot.control.golden.common import NAMESPACE, dangling
from ingot.control.golden.crons import Crons
from ingot.control.golden.datasources import DataSources
from ingot.control.golden.freshness import PAUSED
from ingot.control.golden.polls import Polls
from ingot.control.golden.ssp import SSPs
from ingot.control.volumes.datavolumes import DataVolumes
from ingot.control.volumes.marks import annotation

# A cluster whose kinds have just been installed collects nothing of theirs for half a minute.
COLLECTED = 60.0


class Both(CronWorld):
    """The crons of the namespace of golden images, and the `cluster` that they are in."""

    def __init__(self, cluster: Golden, before: CronWorld) -> None:
        super().__init__(cluster.images, before.registry)
        self.cluster, self.repository = cluster, before.repository

    def order(self, source: str, **spec: Any) -> Object:
        """A template of a cron, whose images go with it."""
        wanted = {"schedule": HOURLY, "managedDataSource": source, "template": self.template, "retentionPolicy": "None"}
        return {"metadata": {"name": source}, "spec": {**wanted, **spec}}

    async def served(self, source: str, digest: str) -> Object:
        """The DataSource, once the cron of that name has imported the version."""
        await self.fill(self.name_of(digest, source))
        return await self.serves(digest, source)


@pytest.fixture
async def both(golden_bare: CronWorld, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Both]:
    # What clones need who were begun just before; here nobody clones.
    monkeypatch.setattr("ingot.control.golden.farewell.GRACE_SECONDS", 0.2)
    async with at_work(golden_bare.world, SSPs, DataVolumes, DataSources, Polls, Crons) as cluster:
        yield Both(cluster, golden_bare)
        with suppress(ApiError):
            # A cron would wait for it, and the SSP for the cron.
            await cluster.client.delete(DATA_SOURCES, "frozen", NAMESPACE)


@pytest.mark.parametrize("first", ["cron", "ssp"])
async def test_a_datasource_goes_when_both_of_its_owners_have_gone(both: Both, first: str) -> None:
    world, digest = both.world, both.push(both.repository)
    ssp = await both.cluster.ssp("ssp-cr", namespace=NAMESPACE)
    # Of a person, so that it does not go with the SSP.
    cron = await world.create(DATA_IMPORT_CRONS, both.order("fedora"))
    link = await both.served("fedora", digest)
    owners = [("SSP", uid_of(ssp), True), ("DataImportCron", uid_of(cron), False)]
    told = [(each["kind"], each["uid"], each["controller"]) for each in link["metadata"]["ownerReferences"]]
    assert told == owners

    order = [(DATA_IMPORT_CRONS, cron, ssp), (SSPS, ssp, cron)]
    (resource, gone, left), (other, _, _) = order if first == "cron" else reversed(order)
    await world.client.delete(resource, name_of(gone), NAMESPACE)
    await world.gone(resource, name_of(gone))

    async def is_left() -> bool:
        kept = await world.get(DATA_SOURCES, "fedora")
        assert uid_of(kept) == uid_of(link)
        return [each["uid"] for each in kept["metadata"]["ownerReferences"]] == [uid_of(left)]

    await eventually(is_left, COLLECTED)
    await both.serves(digest)
    if first == "cron":
        # The SSP takes it back, to be filled by a person, once there is nothing to boot from.
        await world.client.delete(DATA_VOLUMES, both.name_of(digest), NAMESPACE)
        await world.end_claims()
        await world.until(DATA_SOURCES, "fedora", lambda each: each["spec"] == dangling("fedora"))
    await world.client.delete(other, name_of(left), NAMESPACE)
    await world.gone(other, name_of(left))
    await eventually(lambda: world.is_gone(DATA_SOURCES, "fedora"), COLLECTED)


@pytest.mark.parametrize("source", ["fedora", "mine"], ids=["common", "custom"])
async def test_a_cron_with_retention_none_that_is_made_anew_goes_on_with_what_was_imported(
    both: Both, source: str
) -> None:
    world, first = both.world, both.push(f"{both.repository} 1")
    await both.cluster.ssp("ssp-cr", both.order(source))
    old = await both.served(source, first)
    digest = both.push(f"{both.repository} 2")
    await both.look(source)
    link = await both.served(source, digest)
    before = await world.get(DATA_IMPORT_CRONS, source)
    # Neither that an older version is in use, nor that nothing can be fetched any more, is in the way.
    await world.create(DATA_SOURCES, {"metadata": {"name": "frozen"}, "spec": old["spec"]})
    template = {**both.template, "spec": {**both.template["spec"], "source": {"registry": {"url": f"{both.url}-not"}}}}
    await both.cluster.order(both.order(source, template=template))
    await world.until(DATA_IMPORT_CRONS, source, lambda each: uid_of(each) != uid_of(before))
    await both.reason("Unreachable", source)
    after = await both.serves(digest, source)
    assert (uid_of(after), after["spec"]) == (uid_of(link), link["spec"])
    assert await both.imports() == {both.name_of(each, source) for each in (first, digest)}


@pytest.mark.parametrize("policy", ["None", "All"])
async def test_a_cron_that_is_made_anew_goes_on_with_an_import_that_is_under_way(both: Both, policy: str) -> None:
    world, digest = both.world, both.push(both.repository)
    await both.cluster.ssp("ssp-cr", both.order("fedora", retentionPolicy=policy))
    await both.reason("ImportProgressing")
    under_way = await world.get(DATA_VOLUMES, both.name_of(digest))
    before = await world.get(DATA_IMPORT_CRONS, "fedora")
    await both.cluster.order(both.order("fedora", retentionPolicy=policy, schedule="30 * * * *"))
    await world.until(DATA_IMPORT_CRONS, "fedora", lambda each: uid_of(each) != uid_of(before))
    await both.served("fedora", digest)
    assert uid_of(await world.get(DATA_VOLUMES, both.name_of(digest))) == uid_of(under_way)
    # Of another source nothing is gone on with.
    digest = both.push(f"{both.repository} 2")
    await both.look()
    await both.reason("ImportProgressing")
    elsewhere = {"registry": {"url": f"docker://{both.repository}-not:latest"}}
    template = {**both.template, "spec": {**both.template["spec"], "source": elsewhere}}
    await both.cluster.order(both.order("fedora", retentionPolicy=policy, template=template))
    await both.reason("Unreachable")
    await world.gone(DATA_VOLUMES, both.name_of(digest))


@pytest.mark.parametrize("source", ["fedora", "mine"], ids=["common", "custom"])
async def test_a_rollback_outlives_the_cron_when_its_template_changes(both: Both, source: str) -> None:
    world, first = both.world, both.push(f"{both.repository} 1")
    await both.cluster.ssp("ssp-cr", both.order(source))
    await both.served(source, first)
    digest = both.push(f"{both.repository} 2")
    await both.look(source)
    await both.served(source, digest)
    await both.annotate(source, **{names.PINNED: first, names.CHECKSUM_FILE: "http://127.0.0.1:9/sums"})
    old = await both.serves(first, source)
    before = await world.get(DATA_IMPORT_CRONS, source)
    await both.cluster.order(both.order(source, importsToKeep=7))
    await world.until(DATA_IMPORT_CRONS, source, lambda each: uid_of(each) != uid_of(before))
    await both.reason("Pinned", source)
    said = (await world.get(DATA_IMPORT_CRONS, source))["metadata"]["annotations"]
    assert (said[names.PINNED], said[names.CHECKSUM_FILE]) == (first, "http://127.0.0.1:9/sums")
    # Nothing of it is left for a cron that is made after the pin has gone.
    link = await world.until(DATA_SOURCES, source, lambda each: not annotation(each, names.CRON_SAID))
    assert (uid_of(link), link["spec"]) == (uid_of(old), old["spec"])
    await both.annotate(source, **{names.PINNED: None})
    await both.serves(digest, source)


async def test_a_datasource_that_somebody_keeps_is_kept_from_the_cron_that_is_made_anew_too(both: Both) -> None:
    world, digest = both.world, both.push(both.repository)
    await both.cluster.ssp("ssp-cr", both.order("mine", retentionPolicy="All"))
    await both.served("mine", digest)
    own = {"source": {"pvc": {"namespace": NAMESPACE, "name": "my-own"}}}
    await world.change(DATA_SOURCES, "mine", {"metadata": {"labels": {names.IMPORT_CRON: None}}, "spec": own})
    await both.reason("Unmanaged", "mine")
    # And from the one after that, which never owned it.
    for schedule in ("30 * * * *", "40 * * * *"):
        await both.cluster.order(both.order("mine", retentionPolicy="All", schedule=schedule))
        await world.until(DATA_IMPORT_CRONS, "mine", lambda each, new=schedule: each["spec"]["schedule"] == new)
        await both.reason("Unmanaged", "mine")
    link = await world.get(DATA_SOURCES, "mine")
    assert (link["spec"], link["metadata"].get("ownerReferences")) == (own, None)
    await world.change(DATA_SOURCES, "mine", {"metadata": {"labels": {names.IMPORT_CRON: "mine"}}})
    link = await both.serves(digest, "mine")
    assert not annotation(link, names.KEPT_FROM)


async def test_one_that_was_kept_from_a_cron_which_goes_for_good_is_adopted_by_the_next(both: Both) -> None:
    world, digest = both.world, both.push(both.repository)
    order = both.order("mine", retentionPolicy="All")
    await both.cluster.ssp("ssp-cr", order)
    await both.served("mine", digest)
    own = {"source": {"pvc": {"namespace": NAMESPACE, "name": "my-own"}}}
    await world.change(DATA_SOURCES, "mine", {"metadata": {"labels": {names.IMPORT_CRON: None}}, "spec": own})
    await both.reason("Unmanaged", "mine")
    await both.cluster.order()
    await world.gone(DATA_IMPORT_CRONS, "mine")
    assert (await world.get(DATA_SOURCES, "mine"))["spec"] == own
    await both.cluster.order(order)
    await both.serves(digest, "mine")


async def test_a_cron_that_its_ssp_holds_says_so(both: Both) -> None:
    world, digest = both.world, both.push(both.repository)
    await both.cluster.ssp("ssp-cr", both.order("fedora"))
    await both.served("fedora", digest)
    before = await world.get(DATA_IMPORT_CRONS, "fedora")
    await both.cluster.change(SSPS, "ssp-cr", {"metadata": {"annotations": {PAUSED: "true"}}})
    await both.cluster.until(SSPS, "ssp-cr", lambda each: each["status"].get("paused"))
    await world.client.delete(DATA_IMPORT_CRONS, "fedora", NAMESPACE)
    told = await both.reason("Deleting")
    assert told["message"].endswith(f'ssp-cr" has taken its DataSource back: take {PAUSED} from that')
    await both.cluster.change(SSPS, "ssp-cr", {"metadata": {"annotations": {PAUSED: None}}})
    await world.until(DATA_IMPORT_CRONS, "fedora", lambda each: uid_of(each) != uid_of(before))
    await both.reason("UpToDate")


async def test_what_the_crons_of_an_ssp_have_brought_is_not_taken_for_an_image_that_a_person_made(both: Both) -> None:
    world, digest = both.world, both.push(both.repository)
    await both.cluster.ssp("ssp-cr", both.order("fedora", retentionPolicy="All"))
    await both.served("fedora", digest)
    await both.cluster.claim("fedora")
    await world.change(DATA_SOURCES, "fedora", {"metadata": {"labels": {names.IMPORT_CRON: None}}})
    await world.gone(DATA_IMPORT_CRONS, "fedora")
    await world.until(DATA_SOURCES, "fedora", lambda each: each["spec"] == dangling("fedora"))


async def test_a_template_that_goes_takes_what_was_imported_with_retention_none(both: Both) -> None:
    world, digest = both.world, both.push(both.repository)
    await both.cluster.ssp("ssp-cr", both.order("fedora"))
    link = await both.served("fedora", digest)
    await both.cluster.order()
    await world.gone(DATA_IMPORT_CRONS, "fedora")
    await world.gone(DATA_VOLUMES, both.name_of(digest))
    kept = await world.until(DATA_SOURCES, "fedora", lambda each: each["spec"] == dangling("fedora"))
    assert uid_of(kept) == uid_of(link)
