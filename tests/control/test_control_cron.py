"""DataImportCrons on a real API server, with a real registry: new versions become volumes, and are served (G3)."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from control.cron_world import CLAIM, CronWorld
from images.servers.faulty import Asked, FaultyServer, answer
from images.servers.gate import Gate
from images.servers.registry import DockerRegistry
from ingot.api.cdi import names
from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.resources import DATA_IMPORT_CRONS, DATA_SOURCES, DATA_VOLUMES, STORAGE_CLASSES, VOLUME_CLAIMS
from ingot.api.status import ApiError
from ingot.kube.client import Client
from ingot.kube.objects import condition, controller_of


async def test_a_golden_image_from_the_first_version_to_the_second(crons: CronWorld) -> None:
    """The first thing to be had: a cron, a look, an import, a DataSource that stands for it, and then the next."""
    world, first = crons.world, crons.push("1")
    cron = await crons.cron()
    volume = await world.until(DATA_VOLUMES, crons.name_of(first), bool)
    assert volume["spec"]["source"]["registry"]["url"] == f"docker://{crons.repository}@{first}"
    assert volume["metadata"]["labels"][names.IMPORT_CRON] == "fedora"
    assert volume["metadata"]["annotations"][names.DESIRED_DIGEST] == first
    assert volume["metadata"]["annotations"][names.VERSION] == "latest"
    told = await crons.reason("ImportProgressing")
    assert 'DataSource "fedora" points to nothing yet' in told["message"]
    link = await world.get(DATA_SOURCES, "fedora")
    assert link["spec"]["source"] == {}
    assert (controller_of(link) or {})["uid"] == cron["metadata"]["uid"]

    await crons.fill(crons.name_of(first))
    link = await crons.serves(first)
    assert link["status"]["source"] == {"pvc": {"namespace": world.namespace, "name": crons.name_of(first)}}
    assert (await crons.reason("UpToDate"))["status"] == "True"
    cron = await world.get(DATA_IMPORT_CRONS, "fedora")
    assert cron["status"]["lastImportedPVC"] == {"namespace": world.namespace, "name": crons.name_of(first)}
    assert cron["status"]["lastImportTimestamp"]
    assert cron["status"]["lastExecutionTimestamp"] == "2023-11-14T22:13:20Z"
    assert cron["status"]["currentImports"] == []
    assert (condition(cron, "Progressing") or {})["message"] == "No import job in progress."

    second = crons.push("2")
    await crons.look()
    told = await crons.reason("ImportProgressing")
    assert "goes on standing for latest" in told["message"]
    cron = await world.get(DATA_IMPORT_CRONS, "fedora")
    assert cron["status"]["currentImports"] == [{"DataVolumeName": crons.name_of(second), "Digest": second}]
    await crons.serves(first)
    await crons.fill(crons.name_of(second))
    await crons.serves(second)
    assert (await crons.reason("UpToDate"))["status"] == "True"
    assert await crons.imports() == {crons.name_of(first), crons.name_of(second)}
    for reason in ("ImportStarted", "DataSourceMoved", "UpToDate"):
        await world.heard("fedora", reason)


async def test_an_import_that_fails_leaves_the_old_version_serving_and_is_tried_again(crons: CronWorld) -> None:
    world = crons.world
    await crons.cron()
    first = await crons.release("1")
    second = crons.push("2")
    await crons.look()
    await crons.fail(crons.name_of(second))
    told = await crons.reason("ImportFailed")
    assert "this is no disk" in told["message"]
    assert "goes on standing for latest" in told["message"]
    assert "tried again at 20" in told["message"]
    await world.heard("fedora", "ImportFailed")
    await crons.serves(first)
    failed = await world.get(DATA_VOLUMES, crons.name_of(second))

    await world.pass_time(10)
    await crons.look()
    await world.until(
        DATA_VOLUMES, crons.name_of(second), lambda each: each["metadata"]["uid"] != failed["metadata"]["uid"]
    )
    await crons.fill_anew(crons.name_of(second))
    await crons.serves(second)
    await crons.reason("UpToDate")


@pytest.mark.parametrize("code", [400, 500])
async def test_an_import_that_somebody_does_not_take_is_told_of(
    crons: CronWorld, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    create = Client.create

    async def guarded(self: Client, resource: Resource, obj: Object, **options: Any) -> Object:
        if resource == DATA_VOLUMES and obj["metadata"].get("namespace") == crons.world.namespace:
            raise ApiError(code, "", "failed calling webhook: the label team is missing")
        return await create(self, resource, obj, **options)

    monkeypatch.setattr(Client, "create", guarded)
    crons.push("1")
    await crons.cron()
    assert "the label team is missing" in (await crons.reason("ImportFailed"))["message"]


async def test_a_newer_version_does_not_wait_for_one_that_has_failed(crons: CronWorld) -> None:
    bad = crons.push("bad")
    await crons.cron()
    await crons.fail(crons.name_of(bad))
    told = await crons.reason("ImportFailed")
    assert "points to nothing yet" in told["message"]
    await crons.release("good")
    await crons.world.gone(DATA_VOLUMES, crons.name_of(bad))


async def test_a_tag_that_moves_back_and_pins_take_versions_that_are_kept(crons: CronWorld) -> None:
    """Nothing is imported for that; what is pinned stays, and is left by itself when the pin goes."""
    world = crons.world
    await crons.cron()
    first, second = await crons.release("1"), await crons.release("2")
    await world.pass_time(5)
    assert crons.push("1") == first
    await crons.look()
    await crons.serves(first)
    back = await world.get(DATA_VOLUMES, crons.name_of(first))
    assert back["metadata"]["annotations"][names.LAST_USE] == "2023-11-14T22:13:25.000000Z"
    await crons.reason("UpToDate")
    await crons.event("DataSourceMovedBack", f'has moved back to version latest, in "{crons.name_of(first)}"')

    await crons.annotate(**{names.PINNED: second})
    await crons.serves(second)
    told = await crons.reason("Pinned")
    assert told["status"] == "False"
    third = crons.push("3")
    await crons.look()
    await world.until(DATA_IMPORT_CRONS, "fedora", lambda cron: third[7:19] in condition(cron, "UpToDate")["message"])
    assert await crons.imports() == {crons.name_of(first), crons.name_of(second)}
    await crons.annotate(**{names.PINNED: f"sha256:{'0' * 64}"})
    await world.until(DATA_IMPORT_CRONS, "fedora", lambda cron: "not kept" in condition(cron, "UpToDate")["message"])
    await crons.serves(second)

    await crons.annotate(**{names.PINNED: third})
    await crons.fill(crons.name_of(third))
    await crons.serves(third)
    assert (await crons.reason("UpToDate"))["status"] == "True"


async def test_the_schedule_is_followed_without_anybody_asking(crons: CronWorld) -> None:
    world = crons.world
    await crons.cron()
    told = await crons.reason("Unreachable")
    assert "it is not there" in told["message"]
    crons.push("1")
    # Sooner than by the schedule, for it did not answer.
    await world.pass_time(95)
    await crons.reason("ImportProgressing")
    second = crons.push("2")
    cron = await world.get(DATA_IMPORT_CRONS, "fedora")
    assert names.UNREACHABLE_SINCE not in cron["metadata"]["annotations"]
    await world.pass_time(2 * 3600)
    await world.until(
        DATA_IMPORT_CRONS,
        "fedora",
        lambda each: each["metadata"]["annotations"][names.DESIRED_DIGEST] == second,
    )


async def test_a_clock_that_is_put_forward_leaves_no_look_out(crons: CronWorld) -> None:
    """As after a machine slept: its timers have waited for less than the clock says."""
    world = crons.world
    await crons.cron()
    await crons.release("1")
    before = (await world.get(DATA_IMPORT_CRONS, "fedora"))["metadata"]["annotations"][names.LAST_CRON_TIME]
    world.clock.put_forward(2 * 86400)
    await world.pass_time(600)
    await world.until(
        DATA_IMPORT_CRONS, "fedora", lambda each: each["metadata"]["annotations"][names.LAST_CRON_TIME] != before
    )


async def test_a_registry_that_is_down_for_a_day_is_asked_now_and_then_and_the_old_version_serves(
    crons: CronWorld, docker_registry: DockerRegistry
) -> None:
    world = crons.world
    with Gate(docker_registry.port) as gate:
        crons.repository = crons.repository.replace(docker_registry.host, gate.host)
        await crons.cron()
        first = await crons.release("1")
        gate.shut()
        await crons.look()
        told = await crons.reason("Unreachable")
        assert told["message"].startswith(f"Unable to reach docker://{crons.repository}:latest since 2023-11-14T22:13")
        assert "goes on standing for latest" in told["message"]
        await world.heard("fedora", "Unreachable")
        since = (await world.get(DATA_IMPORT_CRONS, "fedora"))["metadata"]["annotations"][names.UNREACHABLE_SINCE]
        last = ""
        for _ in range(4):
            await world.pass_time(6 * 3600)
            cron = await world.until(
                DATA_IMPORT_CRONS,
                "fedora",
                lambda each, last=last: each["metadata"]["annotations"][names.LAST_CRON_TIME] != last,
            )
            last = cron["metadata"]["annotations"][names.LAST_CRON_TIME]
            assert cron["metadata"]["annotations"][names.UNREACHABLE_SINCE] == since
        await crons.serves(first)
        gate.open()
        await world.pass_time(2 * 3600)
        assert (await crons.reason("UpToDate"))["status"] == "True"


async def test_of_two_crons_for_one_datasource_the_older_has_it(crons: CronWorld) -> None:
    world, digest = crons.world, crons.push("1")
    await crons.cron("a-first")
    await crons.fill(crons.name_of(digest))
    await crons.serves(digest)
    await crons.cron("b-second")
    told = await crons.reason("Conflict", "b-second")
    assert 'belongs to DataImportCron "a-first"' in told["message"]
    await world.heard("b-second", "Conflict")
    link = await world.get(DATA_SOURCES, "fedora")
    assert [each["name"] for each in link["metadata"]["ownerReferences"]] == ["a-first"]

    await world.client.delete(DATA_IMPORT_CRONS, "a-first", world.namespace)
    assert (await crons.reason("UpToDate", "b-second"))["status"] == "True"
    taken = await world.get(DATA_VOLUMES, crons.name_of(digest))
    assert taken["metadata"]["labels"][names.IMPORT_CRON] == "b-second"
    claim = await world.get(VOLUME_CLAIMS, crons.name_of(digest))
    assert claim["metadata"]["labels"][names.IMPORT_CRON] == "b-second"
    link = await crons.serves(digest)
    assert link["metadata"]["labels"][names.IMPORT_CRON] == "b-second"


async def test_another_default_class_means_another_import_and_no_gap(crons: CronWorld) -> None:
    world = crons.world
    slow = await crons.make_class("later", default=True)
    try:
        await crons.cron()
        first = await crons.release("1")
        old = await crons.serves(first)
        cron = await world.get(DATA_IMPORT_CRONS, "fedora")
        assert cron["metadata"]["annotations"][names.CRON_STORAGE_CLASS] == slow
        fast = await crons.make_class("sooner", default=True)
        try:
            (new,) = await crons.until_imports(lambda found: found - {crons.name_of(first)})
            assert new.startswith(f"{crons.name_of(first)}-")
            volume = await world.get(DATA_VOLUMES, new)
            assert volume["spec"]["pvc"]["storageClassName"] == fast
            assert (await world.get(DATA_SOURCES, "fedora"))["spec"] == old["spec"]
            await crons.fill(new)
            await world.until(
                DATA_SOURCES, "fedora", lambda each: (each["spec"]["source"].get("pvc") or {}).get("name") == new
            )
            await crons.reason("UpToDate")
            await crons.event("Outdated", f'into StorageClass "{fast}"')
            await crons.event("DataSourceMoved", f'in "{new}"')
        finally:
            await world.client.delete(STORAGE_CLASSES, fast)
    finally:
        await world.client.delete(STORAGE_CLASSES, slow)


async def test_an_image_stream_is_refused_once_and_asked_for_never(crons: CronWorld) -> None:
    source = {"registry": {"imageStream": "rhel8-is", "pullMethod": "node"}}
    # As a cron has it that CDI has followed.
    seen = {names.DESIRED_DIGEST: f"sha256:{'a' * 64}"}
    await crons.cron(template={"spec": {"source": source, "pvc": CLAIM}}, annotations=seen)
    told = await crons.reason("SourceNotDelivered")
    assert "with the image itself in registry.url" in told["message"]
    await crons.event("SourceNotDelivered", "imageStream is not delivered by Ingot", "Warning")
    await crons.look()
    cron = await crons.world.get(DATA_IMPORT_CRONS, "fedora")
    assert cron["metadata"]["annotations"].keys().isdisjoint({names.UNREACHABLE_SINCE, names.NEXT_CRON_TIME})
    await crons.reason("SourceNotDelivered")


async def test_a_file_on_a_web_server_is_followed_by_its_published_checksum(crons: CronWorld) -> None:
    world = crons.world
    sums = {"/SUMS": f"{'ab' * 32}  disk.qcow2"}

    def serve(asked: Asked, client: socket.socket) -> None:
        answer(client, 200, sums[asked.path].encode())

    with FaultyServer(serve) as web:
        source = {"http": {"url": f"{web.url}/disk.qcow2"}}
        await crons.cron(
            template={"spec": {"source": source, "pvc": CLAIM}},
            annotations={names.CHECKSUM_FILE: f"{web.url}/SUMS"},
        )
        volume = await world.until(DATA_VOLUMES, crons.name_of("sha256:" + "ab" * 32), bool)
        assert volume["spec"]["source"]["http"]["checksum"] == f"sha256:{'ab' * 32}"
        sums["/SUMS"] = "nothing of it"
        await crons.look()
        told = await crons.reason("Unreachable")
        assert "it has no checksum of" in told["message"]


async def test_labels_are_handed_on_and_one_that_is_taken_away_keeps_the_datasource(crons: CronWorld) -> None:
    world, digest = crons.world, crons.push("1")
    kind = "instancetype.kubevirt.io/default-instancetype"
    template = {"metadata": {"labels": {"mine": "yes"}}, "spec": {**crons.template["spec"]}}
    await crons.cron(template=template, labels={kind: "u1.medium", "other": "no"})
    await crons.fill(crons.name_of(digest))
    link = await crons.serves(digest)
    assert link["metadata"]["labels"] == {names.IMPORT_CRON: "fedora", kind: "u1.medium"}
    claim = await world.get(VOLUME_CLAIMS, crons.name_of(digest))
    assert {"mine": "yes", kind: "u1.medium", names.IMPORT_CRON: "fedora"}.items() <= claim["metadata"][
        "labels"
    ].items()

    own = {"pvc": {"namespace": world.namespace, "name": "my-own"}}
    taken = {"metadata": {"labels": {names.IMPORT_CRON: None}}, "spec": {"source": own}}
    await world.change(DATA_SOURCES, "fedora", taken)
    told = await crons.reason("Unmanaged")
    assert "has lost the label" in told["message"]
    await crons.event("Unmanaged", "has lost the label")
    assert (await world.get(DATA_SOURCES, "fedora"))["spec"]["source"] == own
    await world.change(DATA_SOURCES, "fedora", {"metadata": {"labels": {names.IMPORT_CRON: "fedora"}}})
    await crons.serves(digest)
