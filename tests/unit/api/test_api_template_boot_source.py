"""What a template's machine starts from is found in both of the seed's forms, whatever else stands there (G7, G8)."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seed_examples import parsed

from ingot.api.resources import DATA_SOURCES, VOLUME_CLAIMS
from ingot.api.template.boot_source import BootSource, available, boot_source
from ingot.api.template.process import TemplateError, process

KEYS = ("metadata", "labels", "spec", "dataVolumeTemplates", "source", "sourceRef", "pvc", "name", "namespace")


def template(*objects, parameters=()):
    return {"metadata": {"name": "t", "namespace": "here"}, "objects": list(objects), "parameters": list(parameters)}


def machine(**spec):
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "spec": {"dataVolumeTemplates": [{"spec": spec}]}}


@pytest.mark.parametrize(
    ("form", "resource"), [("1-vm-template-before", VOLUME_CLAIMS), ("2-vm-template-after", DATA_SOURCES)]
)
def test_both_forms_of_the_seed(form, resource):
    made = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "spec": parsed(f"003-{form}")}
    assert boot_source(template(made)) == BootSource(resource, "golden-images", "fedora")


def test_values_of_parameters_are_filled_in_and_those_that_lack_do_not_matter():
    reference = {"kind": "DataSource", "name": "${SOURCE}"}
    parameters = [{"name": "SOURCE", "value": "fedora"}, {"name": "NAME", "required": True}]
    assert boot_source(template(machine(sourceRef=reference), parameters=parameters)) == BootSource(
        DATA_SOURCES, "here", "fedora"
    )


@pytest.mark.parametrize(
    "obj",
    [
        {},
        {"kind": "VirtualMachine", "spec": "x"},
        {"kind": "VirtualMachine", "spec": {"dataVolumeTemplates": [1, {"spec": 2}]}},
        machine(source={"blank": {}}),
        machine(source="x", sourceRef=["y"]),
        machine(sourceRef={"name": 1}),
        machine(sourceRef={"name": "Not a/name"}),
        machine(sourceRef={"name": "fedora", "namespace": ["x"]}),
        {"kind": "VirtualMachine", "spec": {"dataVolumeTemplates": 5}},
        {"kind": "VirtualMachine", "metadata": "x"},
    ],
)
def test_anything_else_is_none(obj):
    assert boot_source(template(obj)) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(("x", "${A}", "${{A}}")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@given(metadata=JSON, spec=JSON, value=JSON)
def test_whatever_stands_in_an_object_is_passed_over_and_filled_in_or_refused(metadata, spec, value):
    obj = {"kind": "VirtualMachine", "metadata": metadata, "spec": spec}
    asked = template(obj, parameters=[{"name": "A", "value": json.dumps(value)}]) | {"labels": {"a": "b"}}
    found = boot_source(asked)
    assert found is None or (isinstance(found.namespace, str) and isinstance(found.name, str))
    with suppress(TemplateError):
        assert process(asked)["objects"][0]["metadata"]["labels"]["a"] == "b"


def test_a_claim_is_there_or_not_and_a_datasource_is_ready_or_not():
    claim, link = (BootSource(resource, "here", "fedora") for resource in (VOLUME_CLAIMS, DATA_SOURCES))
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    assert [available(claim, found) for found in ({}, None)] == [True, False]
    assert [available(link, found) for found in (ready, {}, None)] == [True, False, False]
