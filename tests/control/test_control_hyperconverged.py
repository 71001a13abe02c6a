"""A HyperConverged hands common and custom golden images on to its SSP, at a minute that is chosen once (G6)."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from control.golden_world import Golden, at_work, cron
from control.world import World
from ingot.api.cdi.names import IMPORT_CRON
from ingot.api.object import Object, name_of
from ingot.api.resource import Resource
from ingot.api.resources import DATA_IMPORT_CRONS, DATA_SOURCES, HYPERCONVERGEDS, NAMESPACES, SSPS
from ingot.api.status import ApiError
from ingot.control.golden import belonging, common
from ingot.control.golden.hyperconverged import HyperConvergeds
from ingot.control.golden.ssp import SSPs
from ingot.kube.client import Client
from ingot.kube.manager import Manager
from ingot.kube.objects import condition, controller_of, is_true

GATE = "enableCommonBootImageImport"
DISABLED = {"annotations": {"dataimportcrontemplate.kubevirt.io/enable": "false"}}
COMMON = [name_of(each) for each in common.crons()]
CUSTOM = cron("custom-image1", "custom1", schedule="0 */12 * * *")


@pytest.fixture
async def golden(bare: World) -> AsyncIterator[Golden]:
    async with at_work(bare, HyperConvergeds, SSPs) as made:
        yield made


async def told(golden: Golden, *templates: Object, **spec: object) -> Object:
    """A HyperConverged that has been brought about."""
    manifest = {"metadata": {"name": "hco"}, "spec": {"dataImportCronTemplates": list(templates), **spec}}
    await golden.create(HYPERCONVERGEDS, manifest)
    return await settled(golden)


async def settled(golden: Golden) -> Object:
    def holds(found: Object) -> bool:
        is_new = (found.get("status") or {}).get("observedGeneration") == found["metadata"]["generation"]
        return is_new and is_true(found, "Available")

    return await golden.until(HYPERCONVERGEDS, "hco", holds)


def listed(found: Object) -> dict[str, Object]:
    return {name_of(each): each for each in found["status"].get("dataImportCronTemplates", ())}


async def crons(golden: Golden) -> set[str]:
    return {name_of(each) for each in await golden.made(DATA_IMPORT_CRONS)}


async def test_common_images_come_only_when_the_gate_is_open(golden: Golden) -> None:
    found = await told(golden)
    assert re.fullmatch(r"[0-5]?[0-9] \*/12 \* \* \*", found["status"]["dataImportSchedule"])
    assert (listed(found), await crons(golden)) == ({}, set())
    ssp = await golden.get(SSPS, "ssp-hco")
    assert (controller_of(ssp) or {})["kind"] == "HyperConverged"
    await golden.change(HYPERCONVERGEDS, "hco", {"spec": {GATE: True}})
    found = await settled(golden)
    assert list(listed(found)) == COMMON
    state = listed(found)["fedora-image-cron"]["status"]
    assert (state["commonTemplate"], "modified" in state) == (True, False)
    made = await golden.images.until(DATA_IMPORT_CRONS, "fedora-image-cron", bool)
    assert made["spec"]["schedule"] == found["status"]["dataImportSchedule"]
    deployed = await golden.until(
        HYPERCONVERGEDS, "hco", lambda each: is_true(listed(each)["fedora-image-cron"], "Deployed")
    )
    assert deployed["status"]["dataImportSchedule"] == found["status"]["dataImportSchedule"]
    await golden.change(HYPERCONVERGEDS, "hco", {"spec": {"featureGates": {GATE: False}}})
    await golden.images.gone(DATA_IMPORT_CRONS, "fedora-image-cron")


async def test_custom_images_come_whether_the_gate_is_open_or_not(golden: Golden) -> None:
    found = await told(golden, CUSTOM, commonTemplatesNamespace="default")
    assert list(listed(found)) == ["custom-image1"]
    assert listed(found)["custom-image1"]["status"]["commonTemplate"] is False
    made = await golden.images.get(DATA_IMPORT_CRONS, "custom-image1")
    assert made["metadata"]["annotations"]["cdi.kubevirt.io/storage.bind.immediate.requested"] == "true"
    ssp = await golden.get(SSPS, "ssp-hco")
    assert ssp["spec"]["commonTemplates"]["namespace"] == "default"
    # What somebody else says in the SSP does not stay.
    await golden.change(SSPS, "ssp-hco", {"spec": {"commonTemplates": {"dataImportCronTemplates": []}}})
    await golden.until(SSPS, "ssp-hco", lambda each: each["spec"] == ssp["spec"])


async def test_one_without_a_schedule_is_refused(golden: Golden) -> None:
    with pytest.raises(ApiError, match="schedule"):
        await told(golden, cron("custom-image1", "custom1"))


async def test_an_ssp_that_somebody_does_not_take_is_told_of(golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    create = Client.create

    async def guarded(self: Client, resource: Resource, obj: Object, **options: Any) -> Object:
        if resource == SSPS:
            raise ApiError(500, "InternalError", "failed calling webhook: the label team is missing")
        return await create(self, resource, obj, **options)

    monkeypatch.setattr(Client, "create", guarded)
    await golden.create(HYPERCONVERGEDS, {"metadata": {"name": "hco"}, "spec": {}})
    found = await golden.until(HYPERCONVERGEDS, "hco", lambda each: is_true(each, "Degraded"))
    assert "the label team is missing" in (condition(found, "Degraded") or {})["message"]


async def test_a_common_image_is_changed_and_left_out_by_name(golden: Golden) -> None:
    change = cron("fedora-image-cron", "fedora", schedule="5 4 * * *", metadata={"annotations": {"mine": "1"}})
    off = {"metadata": {"name": "ubuntu-image-cron", **DISABLED}}
    custom_off = {**CUSTOM, "metadata": {**CUSTOM["metadata"], **DISABLED}}
    found = await told(golden, change, off, custom_off, **{GATE: True})
    assert list(listed(found)) == [name for name in COMMON if name != "ubuntu-image-cron"]
    state = listed(found)["fedora-image-cron"]["status"]
    assert (state["commonTemplate"], state["modified"]) == (True, True)
    made = await golden.images.get(DATA_IMPORT_CRONS, "fedora-image-cron")
    assert (made["spec"]["schedule"], made["metadata"]["annotations"]["mine"]) == ("5 4 * * *", "1")
    assert "ubuntu-image-cron" not in await crons(golden)


async def test_the_common_images_can_be_hidden_in_a_namespace_that_is_made_for_them(golden: Golden) -> None:
    hidden = golden.hidden
    await told(golden, CUSTOM, commonBootImageNamespace=hidden, **{GATE: True})
    assert (await golden.client.get(NAMESPACES, hidden))["metadata"]["name"] == hidden
    items = (await golden.client.list(DATA_IMPORT_CRONS, hidden))["items"]
    assert [name_of(each) for each in items] == COMMON
    await golden.images.get(DATA_IMPORT_CRONS, "custom-image1")


async def test_of_an_image_that_a_person_made_it_is_told_how_to_have_the_common_one(golden: Golden) -> None:
    await golden.claim("fedora")
    await told(golden, **{GATE: True})

    def left_alone(found: Object) -> bool:
        return (condition(listed(found)["fedora-image-cron"], "Deployed") or {}).get("reason") == "UserImage"

    found = await golden.until(HYPERCONVERGEDS, "hco", left_alone)
    message = (condition(listed(found)["fedora-image-cron"], "Deployed") or {})["message"]
    assert "label it cdi.kubevirt.io/dataImportCron=true" in message


async def test_a_cron_of_that_name_that_is_somebody_elses_is_not_its_own(golden: Golden) -> None:
    spec = {**cron("custom-image1", "other")["spec"], "schedule": "1 2 * * *"}
    await golden.images.create(DATA_IMPORT_CRONS, {"metadata": {"name": "custom-image1"}, "spec": spec})
    manifest = {"metadata": {"name": "hco"}, "spec": {"dataImportCronTemplates": [CUSTOM]}}
    await golden.create(HYPERCONVERGEDS, manifest)
    found = await golden.until(HYPERCONVERGEDS, "hco", lambda each: is_true(each, "Degraded"))
    deployed = condition(listed(found)["custom-image1"], "Deployed") or {}
    assert (deployed["status"], deployed["reason"]) == ("False", "ForeignCron")
    assert "give this template another name" in deployed["message"]


@pytest.mark.parametrize("label", ["true", ""])
async def test_an_image_that_follows_a_cron_of_a_person_is_left_alone_whatever_its_label_says(
    golden: Golden, label: str
) -> None:
    spec = {**cron("mine", "fedora")["spec"], "schedule": "1 2 * * *"}
    await golden.images.create(DATA_IMPORT_CRONS, {"metadata": {"name": "mine"}, "spec": spec})
    metadata = {"name": "fedora", "labels": {IMPORT_CRON: "mine"}}
    made = await golden.images.create(DATA_SOURCES, {"metadata": metadata, "spec": {"source": {}}})
    await told(golden, **{GATE: True})

    def is_foreign(found: Object) -> bool:
        return (condition(listed(found)["fedora-image-cron"], "Deployed") or {}).get("reason") == "ForeignCron"

    found = await golden.until(HYPERCONVERGEDS, "hco", is_foreign)
    message = (condition(listed(found)["fedora-image-cron"], "Deployed") or {})["message"]
    assert "DataImportCron golden-images/mine manages DataSource golden-images/fedora: delete it" in message

    await golden.images.change(DATA_SOURCES, "fedora", {"metadata": {"labels": {IMPORT_CRON: label}}})
    # Another DataSource that somebody has changed is put right, so that the SSP has seen the first one too.
    await golden.images.change(DATA_SOURCES, "win10", {"metadata": {"labels": None}})
    await golden.images.until(DATA_SOURCES, "win10", lambda each: belonging.LABELS.items() <= labels_of(each).items())
    left = await golden.images.get(DATA_SOURCES, "fedora")
    assert labels_of(left) == {IMPORT_CRON: label}
    assert left["spec"] == made["spec"]
    assert "fedora-image-cron" not in await crons(golden)

    await golden.client.delete(DATA_IMPORT_CRONS, "mine", "golden-images")
    await golden.until(HYPERCONVERGEDS, "hco", lambda each: is_true(listed(each)["fedora-image-cron"], "Deployed"))
    taken = await golden.images.get(DATA_SOURCES, "fedora")
    assert labels_of(taken)[IMPORT_CRON] == "fedora-image-cron"


def labels_of(obj: Object) -> dict[str, str]:
    return obj["metadata"].get("labels") or {}


async def test_a_cron_that_is_about_to_go_is_not_deployed(golden: Golden) -> None:
    await told(golden, CUSTOM)
    await golden.until(HYPERCONVERGEDS, "hco", lambda each: is_true(listed(each)["custom-image1"], "Deployed"))
    before = await golden.images.get(DATA_IMPORT_CRONS, "custom-image1")
    finalizers = [*before["metadata"]["finalizers"], "example.com/later"]
    await golden.images.change(DATA_IMPORT_CRONS, "custom-image1", {"metadata": {"finalizers": finalizers}})
    await golden.client.delete(DATA_IMPORT_CRONS, "custom-image1", "golden-images")

    def is_deploying(found: Object) -> bool:
        return (condition(listed(found)["custom-image1"], "Deployed") or {}).get("reason") == "Deploying"

    try:
        await golden.until(HYPERCONVERGEDS, "hco", is_deploying)
    finally:
        left = {"metadata": {"finalizers": None}}
        await golden.images.change(DATA_IMPORT_CRONS, "custom-image1", left)
    await golden.until(HYPERCONVERGEDS, "hco", lambda each: is_true(listed(each)["custom-image1"], "Deployed"))


async def test_an_ssp_that_is_somebody_elses_is_told(golden: Golden) -> None:
    owner = await golden.client.get(NAMESPACES, golden.namespace)
    reference = {"apiVersion": "v1", "kind": "Namespace", "name": golden.namespace, "uid": owner["metadata"]["uid"]}
    metadata = {"name": "ssp-hco", "ownerReferences": [{**reference, "controller": True}]}
    await golden.create(SSPS, {"metadata": metadata, "spec": {}})
    await golden.create(HYPERCONVERGEDS, {"metadata": {"name": "hco"}, "spec": {}})
    found = await golden.until(HYPERCONVERGEDS, "hco", lambda each: is_true(each, "Degraded"))
    assert "is controlled by Namespace" in (condition(found, "Degraded") or {})["message"]


async def test_the_minute_is_stored_before_it_is_used_and_never_chosen_again(bare: World) -> None:
    chosen: list[int] = []

    def choose() -> int:
        chosen.append(len(chosen) + 7)
        return chosen[-1]

    async with at_work(bare, SSPs) as golden:
        await golden.create(HYPERCONVERGEDS, {"metadata": {"name": "hco"}, "spec": {GATE: True}})
        for _ in range(2):
            # As often as the controllers are killed and begin anew.
            manager, stop = Manager(bare.client), asyncio.Event()
            HyperConvergeds(manager, choose=choose)
            running = asyncio.create_task(manager.run(stop))
            found = await settled(golden)
            stop.set()
            await running
            assert found["status"]["dataImportSchedule"] == "7 */12 * * *"
        assert chosen == [7]
        ssp = await golden.get(SSPS, "ssp-hco")
        schedules = {each["spec"]["schedule"] for each in ssp["spec"]["commonTemplates"]["dataImportCronTemplates"]}
        assert schedules == {"7 */12 * * *"}
