"""What API servers ask of all kinds: conversion, admission, validation."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judge import ALPHA, V1, instance, made

from ingot.api import registry
from ingot.api.machinery.crd import crd_of
from ingot.api.status import ApiError

OLD_DISK = {"source": {"pvc": {"claimname": "c"}}}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "source", "spec", "metadata", "url", "kind"]), below, max_size=3)
    ),
    max_leaves=8,
)


@cache
def fields_of(group, kind):
    """Names of fields that a kind's mutators may look for, so that chance finds them."""
    names = set()

    def walk(schema):
        for name, below in schema.get("properties", {}).items():
            names.add(name)
            walk(below)
        if "items" in schema:
            walk(schema["items"])

    for version in crd_of(registry.find(group, kind))["spec"]["versions"]:
        walk(version["schema"]["openAPIV3Schema"]["properties"].get("spec", {}))
    return sorted(names) or ["objects"]


def test_every_group_is_there():
    groups = {info.group for info in registry.kinds()}
    assert groups == {
        "cdi.kubevirt.io",
        "hco.kubevirt.io",
        "kubevirt.io",
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


@pytest.mark.parametrize(
    ("info", "version"),
    [(info, version) for info in registry.kinds() for version in info.versions],
    ids=lambda each: getattr(each, "crd_name", None) or each.name,
)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_admission_survives_what_no_schema_has_checked(info, version, data):
    """Admission comes before validation, so it must leave nonsense for the schema to refuse."""
    spec = data.draw(st.dictionaries(st.sampled_from(fields_of(info.group, info.kind)), json_values, max_size=4) | json_values)
    obj = {"apiVersion": info.api_version(version.name), "kind": info.kind, "spec": spec, "metadata": {"name": "a"}}
    registry.admit(obj, None, "CREATE")
    registry.admit(obj, obj, "UPDATE")
