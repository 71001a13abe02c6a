"""An SSP installs the common templates and their DataSources, and crons for those that are asked for (G4, G5)."""

from collections.abc import AsyncIterator

import pytest

from control.golden_world import Golden, at_work, cron
from control.world import World
from ingot.api.cdi.names import IMPORT_CRON
from ingot.api.object import Object, uid_of
from ingot.api.resources import (
    DATA_IMPORT_CRONS,
    DATA_SOURCES,
    ROLE_BINDINGS,
    SSPS,
    TEMPLATES,
    VOLUME_CLAIMS,
)
from ingot.control.golden import common
from ingot.control.golden.belonging import PRIMARY
from ingot.control.golden.ssp import SSPs
from ingot.kube.objects import condition, is_true

DANGLING = {"source": {"pvc": {"name": "fedora", "namespace": "golden-images"}}}


@pytest.fixture
async def golden(bare: World) -> AsyncIterator[Golden]:
    async with at_work(bare, SSPs) as made:
        yield made


def labels(obj: Object) -> Object:
    return dict(obj["metadata"].get("labels") or {})


async def test_it_installs_templates_and_a_dangling_datasource_for_each_that_they_name(golden: Golden) -> None:
    ssp = await golden.ssp()
    assert {each["type"]: each["status"] for each in ssp["status"]["conditions"]} == {
        "Available": "True",
        "Progressing": "False",
        "Degraded": "False",
    }
    listed = (await golden.client.list(TEMPLATES, golden.namespace))["items"]
    assert {each["metadata"]["name"] for each in listed} == {each["metadata"]["name"] for each in common.templates()}
    for name in ("fedora", "centos-stream9", "debian12", "ubuntu", "win10"):
        found = await golden.images.get(DATA_SOURCES, name)
        assert found["spec"] == common.dangling(name)
    assert (await golden.client.list(DATA_IMPORT_CRONS))["items"] == []
    assert (await golden.images.get(ROLE_BINDINGS, "os-images.kubevirt.io:view"))["subjects"][0]["name"] == (
        "system:authenticated"
    )


async def test_what_people_change_in_it_is_changed_back(golden: Golden) -> None:
    await golden.ssp()
    name = "fedora-server-small"
    before = await golden.get(TEMPLATES, name)
    patch = {"parameters": [], "objects": [], "metadata": {"labels": {"template.kubevirt.io/type": None, "mine": "1"}}}
    await golden.change(TEMPLATES, name, patch)
    healed = await golden.until(TEMPLATES, name, lambda each: each["objects"])
    assert (healed["objects"], healed["parameters"]) == (before["objects"], before["parameters"])
    assert labels(healed) == {**labels(before), "mine": "1"}
    await golden.client.delete(TEMPLATES, name, golden.namespace)
    await golden.until(TEMPLATES, name, lambda each: uid_of(each) != uid_of(before))
    other = {"spec": {"source": {"pvc": {"name": "other"}}}}
    await golden.images.change(DATA_SOURCES, "fedora", other)
    await golden.images.until(DATA_SOURCES, "fedora", lambda each: each["spec"] == DANGLING)
    await golden.images.client.delete(DATA_SOURCES, "fedora", "golden-images")
    await golden.images.until(DATA_SOURCES, "fedora", lambda each: each["spec"] == DANGLING)


async def test_the_owner_references_are_the_seeds_own(golden: Golden) -> None:
    ssp = await golden.ssp("ssp-cr", cron("fedora", metadata={"namespace": "golden-images"}), namespace="golden-images")
    owned = await golden.images.until(DATA_SOURCES, "fedora", lambda each: IMPORT_CRON in labels(each))
    by_ssp = {
        "apiVersion": "ssp.kubevirt.io/v1beta1",
        "controller": True,
        "blockOwnerDeletion": False,
        "kind": "SSP",
        "name": "ssp-cr",
        "uid": uid_of(ssp),
    }
    assert owned["metadata"]["ownerReferences"] == [by_ssp]
    found = await golden.images.get(DATA_IMPORT_CRONS, "fedora")
    by_cron = {**by_ssp, "apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataImportCron", "name": "fedora"}
    by_cron.update(controller=False, uid=uid_of(found))
    await golden.adopt("fedora", "fedora", "fedora-1")
    # Whatever else it heals, it leaves both as they are.
    await golden.images.change(DATA_SOURCES, "fedora", {"metadata": {"labels": {IMPORT_CRON: None}}})
    kept = await golden.images.until(DATA_SOURCES, "fedora", lambda each: labels(each).get(IMPORT_CRON) == "fedora")
    assert kept["metadata"]["ownerReferences"] == [by_ssp, by_cron]
    assert kept["spec"]["source"]["pvc"]["name"] == "fedora-1"


async def test_who_did_not_make_a_datasource_is_not_its_controller(golden: Golden) -> None:
    await golden.images.create(DATA_SOURCES, {"metadata": {"name": "fedora"}, "spec": DANGLING})
    await golden.ssp(namespace="golden-images")
    found = await golden.images.get(DATA_SOURCES, "fedora")
    assert [each["controller"] for each in found["metadata"]["ownerReferences"]] == [False]


async def test_a_cron_is_made_only_for_what_is_asked_for(golden: Golden) -> None:
    await golden.ssp("ssp-cr", cron(metadata={"annotations": {"a": "b"}}), cron("mine", "mine", schedule="1 2 * * *"))
    made = await golden.images.get(DATA_IMPORT_CRONS, "fedora-image-cron")
    assert made["spec"]["schedule"] == "0 */12 * * *"
    assert made["metadata"]["annotations"]["a"] == "b"
    assert (await golden.images.get(DATA_IMPORT_CRONS, "mine"))["spec"]["schedule"] == "1 2 * * *"
    found = await golden.images.get(DATA_SOURCES, "fedora")
    assert (labels(found)[IMPORT_CRON], found["spec"]) == ("fedora-image-cron", DANGLING)
    assert await golden.images.is_gone(DATA_SOURCES, "mine")


async def test_an_image_that_a_person_made_wins_until_they_say_otherwise(golden: Golden) -> None:
    claim = await golden.claim("fedora")
    await golden.ssp("ssp-cr", cron())
    assert await golden.images.is_gone(DATA_IMPORT_CRONS, "fedora-image-cron")
    await golden.images.change(DATA_SOURCES, "fedora", {"metadata": {"labels": {IMPORT_CRON: "true"}}})
    await golden.images.until(DATA_IMPORT_CRONS, "fedora-image-cron", bool)
    await golden.adopt("fedora-image-cron", "fedora", "fedora-1")
    await golden.deployed()
    assert (await golden.images.get(DATA_SOURCES, "fedora"))["spec"] != DANGLING
    await golden.images.change(DATA_SOURCES, "fedora", {"metadata": {"labels": {IMPORT_CRON: None}}})
    await golden.images.gone(DATA_IMPORT_CRONS, "fedora-image-cron")
    await golden.images.until(DATA_SOURCES, "fedora", lambda each: each["spec"] == DANGLING)
    after = await golden.images.get(VOLUME_CLAIMS, "fedora")
    assert after["metadata"]["resourceVersion"] == claim["metadata"]["resourceVersion"]


async def test_a_template_that_goes_takes_its_cron_and_leaves_the_datasource(golden: Golden) -> None:
    await golden.ssp("ssp-cr", cron())
    adopted = await golden.adopt("fedora-image-cron", "fedora", "fedora-1")
    await golden.order()
    await golden.images.gone(DATA_IMPORT_CRONS, "fedora-image-cron")
    found = await golden.images.until(DATA_SOURCES, "fedora", lambda each: each["spec"] == DANGLING)
    assert uid_of(found) == uid_of(adopted)
    assert IMPORT_CRON not in labels(found)
    assert not found["metadata"].get("ownerReferences")


async def test_a_template_that_changes_makes_its_cron_anew_while_the_datasource_stays(golden: Golden) -> None:
    await golden.ssp("ssp-cr", cron())
    before = await golden.images.get(DATA_IMPORT_CRONS, "fedora-image-cron")
    adopted = await golden.adopt("fedora-image-cron", "fedora", "fedora-1")
    await golden.order(cron(schedule="5 4 * * *"))
    after = await golden.images.until(
        DATA_IMPORT_CRONS, "fedora-image-cron", lambda each: uid_of(each) != uid_of(before)
    )
    assert after["spec"]["schedule"] == "5 4 * * *"
    found = await golden.images.get(DATA_SOURCES, "fedora")
    assert (uid_of(found), found["spec"]) == (uid_of(adopted), adopted["spec"])


async def test_the_cron_and_the_datasource_of_a_person_are_left_alone(golden: Golden) -> None:
    spec = {**cron()["spec"], "schedule": "1 2 * * *"}
    await golden.images.create(DATA_IMPORT_CRONS, {"metadata": {"name": "mine"}, "spec": spec})
    own = {"source": {"pvc": {"name": "mine-1", "namespace": "golden-images"}}}
    followed = {"metadata": {"name": "fedora", "labels": {IMPORT_CRON: "mine"}}, "spec": own}
    pointed = {"metadata": {"name": "ubuntu"}, "spec": own}
    before = [await golden.images.create(DATA_SOURCES, each) for each in (followed, pointed)]
    await golden.ssp("ssp-cr", cron(), cron("ubuntu-image-cron", "ubuntu"))
    after = [await golden.images.get(DATA_SOURCES, name) for name in ("fedora", "ubuntu")]
    assert after == before
    assert await golden.images.is_gone(DATA_IMPORT_CRONS, "fedora-image-cron")
    assert await golden.images.is_gone(DATA_IMPORT_CRONS, "ubuntu-image-cron")


async def test_all_of_it_goes_with_the_ssp_but_not_what_others_own(golden: Golden) -> None:
    await golden.ssp("ssp-cr", cron())
    spec = {**cron("mine", "ubuntu")["spec"], "schedule": "1 2 * * *"}
    await golden.images.create(DATA_IMPORT_CRONS, {"metadata": {"name": "mine"}, "spec": spec})
    await golden.adopt("mine", "ubuntu", "ubuntu-1")
    await golden.client.delete(SSPS, "ssp-cr", golden.namespace)
    await golden.gone(SSPS, "ssp-cr")
    await golden.gone(TEMPLATES, "fedora-server-small")
    assert await golden.images.is_gone(DATA_IMPORT_CRONS, "fedora-image-cron")
    await golden.images.gone(DATA_SOURCES, "fedora")
    kept = await golden.images.get(DATA_SOURCES, "ubuntu")
    assert (kept["spec"]["source"]["pvc"]["name"], "annotations" in kept["metadata"]) == ("ubuntu-1", False)


async def test_of_two_only_the_older_one_counts(golden: Golden) -> None:
    await golden.ssp()
    made = {"apiVersion": SSPS.api_version, "kind": "SSP", "metadata": {"name": "zwei"}, "spec": {}}
    await golden.create(SSPS, made)
    second = await golden.until(SSPS, "zwei", lambda each: is_true(each, "Degraded"))
    assert f"SSP {golden.namespace}/ssp-cr is older" in (condition(second, "Degraded") or {})["message"]
    await golden.client.delete(SSPS, "ssp-cr", golden.namespace)
    await golden.deployed("zwei")
    marked = f"{golden.namespace}/zwei"
    for resource, name in ((DATA_SOURCES, "fedora"), (ROLE_BINDINGS, "os-images.kubevirt.io:view")):
        await golden.images.until(
            resource, name, lambda each: each["metadata"].get("annotations", {}).get(PRIMARY) == marked
        )


async def test_what_the_server_refuses_is_told_with_the_cure(golden: Golden) -> None:
    missing = f"{golden.namespace}-not"
    spec = {
        "commonTemplates": {"namespace": missing, "dataImportCronTemplates": [cron(metadata={"namespace": missing})]}
    }
    await golden.create(SSPS, {"metadata": {"name": "ssp-cr"}, "spec": spec})
    found = await golden.until(SSPS, "ssp-cr", lambda each: is_true(each, "Degraded"))
    told = (condition(found, "Degraded") or {})["message"]
    assert f'namespace "{missing}" of spec.commonTemplates.namespace is missing: create it' in told
    assert f"DataImportCron {missing}/fedora-image-cron cannot be made" in told
    await golden.change(SSPS, "ssp-cr", {"spec": None})
    await golden.deployed()


async def test_one_that_is_paused_does_nothing(golden: Golden) -> None:
    paused = {"name": "ssp-cr", "annotations": {"kubevirt.io/operator.paused": "true"}}
    await golden.create(SSPS, {"metadata": paused, "spec": {}})
    await golden.until(SSPS, "ssp-cr", lambda each: (each.get("status") or {}).get("paused"))
    assert await golden.images.is_gone(DATA_SOURCES, "fedora")
    await golden.change(SSPS, "ssp-cr", {"metadata": {"annotations": {"kubevirt.io/operator.paused": None}}})
    found = await golden.deployed()
    assert "paused" not in found["status"]
