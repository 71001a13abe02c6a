"""What API servers ask of all kinds: conversion, admission, validation."""

from functools import cache
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from judge import ALPHA, V1, instance, made

from ingot.api import registry
from ingot.api.object import split_api_version
from ingot.api.status import ApiError

OLD_DISK = {"source": {"pvc": {"claimname": "c"}}}
HERE = Path(__file__)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(["name", "spec", "url"]), below),
    max_leaves=6,
)


@cache
def good():
    """Objects of all kinds, some of them in older shapes."""
    found = []
    for path in [*HERE.parents[3].glob("examples/*.yaml"), *HERE.parent.glob("seeds/003-*.yaml")]:
        for obj in yaml.safe_load_all(path.read_text()):
            if "apiVersion" in obj and registry.find(split_api_version(obj["apiVersion"])[0], obj["kind"]):
                found.append(obj)
    old = [OLD_DISK, {"type": "PersistentVolumeClaim", "source": {"name": "c"}, "target": {"device": "sda"}}]
    spec = {"domain": {"devices": {"disks": old}}, "volumes": [{"name": "v", "emptyDisk": {"capacity": 1}}]}
    found.append(made("VirtualMachine", spec, ALPHA))
    found.append(made("VirtualMachine", {"running": True, "template": {"spec": spec}}, ALPHA))
    found.append(made("VirtualMachineInstance", spec, ALPHA))
    return found


def places(value):
    """Every container in a value, with each of its keys."""
    for key, below in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(below, dict | list):
            yield from places(below)


def test_every_group_is_there():
    groups = {info.group for info in registry.kinds()}
    assert groups == {
        "cdi.kubevirt.io",
        "hco.kubevirt.io",
        "kubevirt.io",
        "snapshot.kubevirt.io",
        "ssp.kubevirt.io",
        "template.openshift.io",
    }
    assert len(registry.crds()) == len(registry.kinds())


def test_conversion_to_the_same_version_is_the_object_itself():
    obj = instance()
    assert registry.convert(obj, "v1") is obj


def test_conversion_changes_no_argument():
    obj = made("VM", {"domain": {"devices": {"disks": [OLD_DISK]}}}, ALPHA)
    before = registry.copy_json(obj)
    converted = registry.convert(obj, "v1")
    assert obj == before
    assert converted["apiVersion"] == V1
    assert converted["spec"]["volumes"]


def test_there_and_back_loses_nothing():
    obj = instance({"name": "a", "emptyDisk": {"capacity": "1Gi"}})
    for version in ("v1alpha1", "v1alpha3"):
        there = registry.convert(obj, version)
        assert there["apiVersion"] == f"kubevirt.io/{version}"
        assert registry.convert(there, "v1") == obj


@pytest.mark.parametrize(
    ("obj", "version", "said"),
    [
        (instance(), "v9", "has no version 'v9'; it has v1, v1alpha3, v1alpha1"),
        ({**instance(), "apiVersion": "kubevirt.io/v7"}, "v1", "has no version 'v7'"),
        ({"apiVersion": "v1", "kind": "Pod"}, "v1", "no kind 'Pod' in 'v1'"),
        ({}, "v1", "no kind None"),
    ],
)
def test_what_cannot_be_converted_is_told(obj, version, said):
    with pytest.raises(ApiError) as told:
        registry.convert(obj, version)
    assert told.value.code == 400
    assert said in told.value.message


def test_objects_that_are_not_ours_pass():
    pod = {"apiVersion": "v1", "kind": "Pod"}
    assert registry.admit(pod, None, "CREATE") is pod
    assert registry.validate(pod, None) == []


def test_admission_answers_in_the_version_that_it_was_asked_in():
    obj = made("VirtualMachine", {"domain": {"devices": {"disks": [OLD_DISK]}}}, ALPHA)
    before = registry.copy_json(obj)
    admitted = registry.admit(obj, None, "CREATE")
    assert obj == before
    assert admitted["apiVersion"] == ALPHA
    assert admitted["spec"]["runStrategy"] == "Always"


def test_validation_sees_the_stored_shape():
    obj = made("VM", {"domain": {"devices": {"disks": [{"source": {"http": {"url": "http://"}}}]}}}, ALPHA)
    assert [cause.field for cause in registry.validate(obj, None)] == ["spec.volumes[0].http.url"]


@given(st.data())
@settings(max_examples=400)
def test_admission_survives_what_no_schema_has_checked(data):
    """Admission comes before validation, so it must leave nonsense for the schema to refuse."""
    obj = registry.copy_json(data.draw(st.sampled_from(good())))
    holder, key = data.draw(st.sampled_from([place for place in places(obj) if place[1] not in ("apiVersion", "kind")]))
    holder[key] = data.draw(json_values)
    before = registry.copy_json(obj)
    once = registry.admit(obj, None, "CREATE")
    assert registry.admit(once, once, "UPDATE") == once
    assert obj == before


def test_there_are_good_objects_of_most_kinds():
    assert len({obj["kind"] for obj in good()}) > 7


def test_what_was_accepted_once_is_judged_again_only_when_it_changes():
    broken = instance({"name": "root", "networkVolume": {"uri": "gopher://nowhere"}})
    assert [cause.field for cause in registry.validate(broken, None)] == ["spec.volumes[0].networkVolume.uri"]
    released = {**broken, "metadata": {**broken["metadata"], "finalizers": []}, "status": {"phase": "Failed"}}
    assert registry.validate(released, broken) == []
    changed = {**broken, "spec": {**broken["spec"], "hostname": "other"}}
    assert len(registry.validate(changed, broken)) == 1


def test_a_status_that_has_rules_is_judged():
    cron = next(obj for obj in good() if obj["kind"] == "DataImportCron")
    before = registry.admit({**cron, "status": {}}, None, "CREATE")
    after = {**before, "status": {"lastImportedPVC": 1}}
    assert [cause.field for cause in registry.validate(after, before)] == ["status.lastImportedPVC"]
