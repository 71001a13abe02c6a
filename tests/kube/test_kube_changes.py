"""Objects of Ingot's kinds that are changed, in old and new shapes, on a real cluster as on one machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingot.api.object import Object, name_of
from kube.pair import Pair, resource, stored_resource
from kube.webhooks import manifests
from unit.api.seed_examples import examples

SEEDS = examples()
EXAMPLES = Path(__file__).parents[2] / "examples"
MACHINE = SEEDS["004-1-registry-disk"]


def old_disks(*sources: Object) -> Object:
    return {"domain": {"devices": {"disks": [{"source": source, "target": {"device": "sda"}} for source in sources]}}}


async def test_an_old_manifest_is_changed_and_applied_again(both: Pair) -> None:
    await both.apply(MACHINE)
    changed = {**MACHINE, "spec": old_disks({"pvc": {"claimname": "other"}})}
    await both.apply(changed)
    halted = await both.patch(stored_resource(MACHINE), "it", {"spec": {"runStrategy": "Halted"}})
    assert halted["spec"]["template"]["spec"]["volumes"] == [
        {"name": "sda", "persistentVolumeClaim": {"claimName": "other"}}
    ]
    again = await both.apply(changed)
    assert (again["spec"]["runStrategy"], again["metadata"]["generation"]) == ("Halted", 3)


async def test_an_old_shape_is_patched_into_a_new_one(both: Pair) -> None:
    await both.stored(MACHINE)
    patched = await both.patch(resource(MACHINE), "it", {"spec": old_disks({"nbd": {"host": {"name": "h"}}})})
    [volume] = patched["spec"]["template"]["spec"]["volumes"]
    assert volume["name"] == "sda"
    assert "containerDisk" not in volume


async def test_the_fields_of_two_shapes(both: Pair) -> None:
    """HyperConverged has a field that an older shape has elsewhere; SSP, a list."""
    converged, ssp = SEEDS["003-9-hyperconverged"], SEEDS["003-8-ssp"]
    await both.apply(converged)
    off = await both.apply({**converged, "spec": {"enableCommonBootImageImport": False}})
    assert off["spec"]["featureGates"] == {"enableCommonBootImageImport": False}
    await both.stored(ssp)
    none = await both.patch(resource(ssp), name_of(ssp), {"spec": {"DataImportCronTemplates": []}})
    assert none["spec"]["commonTemplates"]["dataImportCronTemplates"] == []
    some = await both.patch(resource(ssp), name_of(ssp), {"spec": ssp["spec"]})
    assert len(some["spec"]["commonTemplates"]["dataImportCronTemplates"]) == 2


@pytest.mark.parametrize("version", ["v1", "v1alpha1"])
@pytest.mark.parametrize(
    "patch",
    [
        {"spec": None},
        {"spec": {"unknown": 1}},
        {"spec": {"volumes": "none"}},
        {"spec": {"volumes": [{"name": "sda"}]}},
        {"spec": {"domain": {"devices": {"disks": None}}}},
        {"spec": {"domain": {"devices": {"disks": [{"name": "sda"}, {"name": "sda"}]}}}},
        {"status": {"phase": "Running"}},
    ],
)
async def test_odd_patches_get_the_same_answer(both: Pair, version: str, patch: Object) -> None:
    classic = SEEDS["002-1-vm"]
    await both.stored(classic)
    await both.patch(resource(classic, version), "it", patch)
    await both.get(stored_resource(classic), "it")


async def test_a_replica_set_is_scaled(both: Pair) -> None:
    [asked] = manifests(EXAMPLES.glob("vmirs-*.yaml"))
    await both.stored(asked)
    kind, name = resource(asked), name_of(asked)
    assert (await both.patch(kind, name, {"spec": {"replicas": 5}}, "scale"))["spec"] == {"replicas": 5}
    await both.patch(kind, name, {"status": {"replicas": 3, "labelSelector": "a=b"}}, "status")
    assert (await both.get(kind, name))["metadata"]["generation"] == 2
    told = await both.patch(resource(asked, "v1alpha3"), name, {"spec": {"selector": {"matchLabels": {"x": "y"}}}})
    assert told["reason"] == "Invalid"


async def test_a_template_names_its_objects(both: Pair) -> None:
    asked: Object = {
        "apiVersion": "template.openshift.io/v1",
        "kind": "Template",
        "metadata": {"name": "it"},
        "objects": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "${NAME}"}}],
        "parameters": [{"name": "NAME"}],
    }
    told = await both.create({**asked, "objects": [{"kind": "ConfigMap"}]})
    assert told["details"]["causes"][0]["field"] == "objects[0].apiVersion"
    assert (await both.stored(asked))["objects"] == asked["objects"]
