"""DataSources tell what they lead to, and whether that can be cloned (G2)."""

from __future__ import annotations

import pytest

from control.cron_world import CLAIM, CronWorld
from ingot.api.cdi.names import IMPORT_CRON, POD_PHASE, UPLOAD_TARGET
from ingot.api.object import Object
from ingot.api.resources import DATA_SOURCES, DATA_VOLUMES, SNAPSHOTS, VOLUME_CLAIMS
from ingot.api.status import ApiError
from ingot.kube.objects import condition


async def link(crons: CronWorld, name: str, **source: str) -> None:
    """A DataSource to what is named in the same namespace."""
    named = {kind: {"namespace": crons.world.namespace, "name": target} for kind, target in source.items()}
    await crons.world.create(DATA_SOURCES, {"metadata": {"name": name}, "spec": {"source": named}})


async def tells(crons: CronWorld, name: str, reason: str) -> Object:
    """The DataSource, once it is so."""

    def holds(found: Object) -> bool:
        ready = condition(found, "Ready") or {}
        return ready.get("reason") == reason and (ready["status"] == "True") == (reason == "Ready")

    return await crons.world.until(DATA_SOURCES, name, holds)


async def test_a_link_to_a_claim(crons: CronWorld) -> None:
    world = crons.world
    await link(crons, "empty")
    await tells(crons, "empty", "NoSource")
    await link(crons, "newest", pvc="disk")
    await tells(crons, "newest", "NotFound")
    source = {"http": {"url": "http://images.example/disk.img"}}
    await world.create(DATA_VOLUMES, {"metadata": {"name": "disk"}, "spec": {"source": source, "pvc": CLAIM}})
    await tells(crons, "newest", "ImportScheduled")
    await crons.fill("disk")
    found = await tells(crons, "newest", "Ready")
    assert found["status"]["source"] == found["spec"]["source"]
    await world.heard("newest", "Ready")
    await world.client.delete(DATA_VOLUMES, "disk", world.namespace)
    await tells(crons, "newest", "NotFound")
    await world.end_claims()


async def test_a_link_to_a_claim_that_is_still_to_take_its_upload(crons: CronWorld) -> None:
    """Such a claim is bound before it has a byte."""
    world = crons.world
    metadata = {"name": "sent", "annotations": {UPLOAD_TARGET: ""}}
    await world.create(VOLUME_CLAIMS, {"metadata": metadata, "spec": CLAIM})
    await world.bind("sent")
    await link(crons, "newest", pvc="sent")
    await tells(crons, "newest", "Pending")
    await world.change(VOLUME_CLAIMS, "sent", {"metadata": {"annotations": {POD_PHASE: "Succeeded"}}})
    await tells(crons, "newest", "Ready")


async def test_what_is_said_of_an_image_is_said_of_its_link_too(crons: CronWorld) -> None:
    world, kind = crons.world, "instancetype.kubevirt.io/default-instancetype"
    labels = {kind: "u1.small", "mine": "1"}
    await world.create(VOLUME_CLAIMS, {"metadata": {"name": "disk", "labels": labels}, "spec": CLAIM})
    await world.bind("disk")
    await link(crons, "newest", pvc="disk")
    assert (await tells(crons, "newest", "Ready"))["metadata"]["labels"] == {kind: "u1.small"}
    await world.change(VOLUME_CLAIMS, "disk", {"metadata": {"labels": {kind: "u1.large"}}})
    await world.until(DATA_SOURCES, "newest", lambda each: each["metadata"]["labels"][kind] == "u1.large")
    # Of one that a cron has, that says it.
    source = {"pvc": {"namespace": world.namespace, "name": "disk"}}
    followed = {"metadata": {"name": "followed", "labels": {IMPORT_CRON: "cron"}}, "spec": {"source": source}}
    await world.create(DATA_SOURCES, followed)
    assert (await tells(crons, "followed", "Ready"))["metadata"]["labels"] == {IMPORT_CRON: "cron"}


async def test_a_link_to_a_snapshot(crons: CronWorld) -> None:
    world = crons.world
    await link(crons, "newest", snapshot="taken")
    await tells(crons, "newest", "NotFound")
    spec = {"source": {"persistentVolumeClaimName": "disk"}}
    await world.create(SNAPSHOTS, {"metadata": {"name": "taken"}, "spec": spec})
    await tells(crons, "newest", "SnapshotNotReady")
    await world.write(SNAPSHOTS, "taken", {"readyToUse": True})
    await tells(crons, "newest", "Ready")
    await world.client.delete(SNAPSHOTS, "taken", world.namespace)
    await tells(crons, "newest", "NotFound")


async def test_a_link_to_a_link_follows_it_wherever_it_moves(crons: CronWorld) -> None:
    world = crons.world
    await link(crons, "follower", dataSource="followed")
    await tells(crons, "follower", "NotFound")
    await link(crons, "followed", pvc="disk")
    for name in ("disk", "other"):
        await world.create(VOLUME_CLAIMS, {"metadata": {"name": name}, "spec": CLAIM})
        await world.bind(name)
    await tells(crons, "follower", "Ready")
    moved = {"spec": {"source": {"pvc": {"namespace": world.namespace, "name": "other"}}}}
    await world.change(DATA_SOURCES, "followed", moved)
    found = await world.until(
        DATA_SOURCES, "follower", lambda each: each["status"]["source"] == moved["spec"]["source"]
    )
    assert "dataSource" in found["spec"]["source"]


async def test_a_link_to_a_link_of_another_namespace_is_not_followed(crons: CronWorld) -> None:
    world = crons.world
    await world.create(VOLUME_CLAIMS, {"metadata": {"name": "disk"}, "spec": CLAIM})
    await world.bind("disk")
    await link(crons, "followed", pvc="disk")
    await link(crons, "follower", dataSource="followed")
    assert (await tells(crons, "follower", "Ready"))["status"]["source"]
    there = {"spec": {"source": {"dataSource": {"namespace": "default"}}}}
    await world.change(DATA_SOURCES, "follower", there)
    assert "source" not in (await tells(crons, "follower", "CrossNamespaceReference"))["status"]


async def test_links_that_lead_too_far_or_back_are_told_and_the_shortest_is_refused(crons: CronWorld) -> None:
    await link(crons, "a", dataSource="b")
    await link(crons, "b", dataSource="c")
    await link(crons, "c", pvc="disk")
    await tells(crons, "a", "MaxReferenceDepthReached")
    await tells(crons, "b", "NotFound")
    await link(crons, "one", dataSource="two")
    await link(crons, "two", dataSource="one")
    await tells(crons, "one", "SelfReference")
    await tells(crons, "two", "SelfReference")
    with pytest.raises(ApiError, match="cannot follow itself"):
        await link(crons, "self", dataSource="self")
