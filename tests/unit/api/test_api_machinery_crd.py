"""Kinds as CustomResourceDefinitions."""

from typing import Annotated

import msgspec
import pytest

from ingot.api import registry
from ingot.api.machinery import UNSET, Column, Field, Kind, Opt, Scale, Shape, Version, resource_of
from ingot.api.machinery.crd import crd_of
from ingot.api.machinery.defaults import fill
from ingot.api.machinery.kind import KINDS, kind
from ingot.api.resource import Resource
from ingot.standalone.schema import custom


class Wheel(Shape):
    """A wheel."""

    size: Annotated[int, Field("Its size.")] = 3


class CarSpec(Shape):
    """What a car is to be."""

    wheels: Annotated[Opt[list[Wheel]], Field("Its wheels.", max_items=9)] = UNSET
    spare: Opt[Wheel] = UNSET


def double(schema):
    """Wheels of the old cars."""
    return {**schema, "maxItems": 2 * schema["maxItems"]}


@pytest.fixture
def car():
    before = dict(KINDS)

    @kind(
        group="test.local",
        plural="cars",
        short_names=("c",),
        categories=("all",),
        versions=(
            Version("v2"),
            Version("v1", overrides={"spec.wheels": double}, deprecated=True, deprecation_warning="old"),
            Version("v0", served=False, overrides={"spec.wheels[].size": str}),
        ),
        columns=(Column("Age", ".metadata.creationTimestamp", "date"), Column("Wide", ".spec.wide", priority=1)),
        scale=Scale(),
        selectable=(".spec.color",),
    )
    class Car(Kind):
        """A car."""

        spec: CarSpec

    yield Car
    KINDS.clear()
    KINDS.update(before)


def test_names_and_scope(car):
    spec = crd_of(car.INFO)["spec"]
    assert spec["names"] == {
        "kind": "Car",
        "listKind": "CarList",
        "plural": "cars",
        "singular": "car",
        "shortNames": ["c"],
        "categories": ["all"],
    }
    assert (spec["group"], spec["scope"]) == ("test.local", "Namespaced")


def test_versions(car):
    crd = crd_of(car.INFO)
    assert [(each["name"], each["served"], each["storage"]) for each in crd["spec"]["versions"]] == [
        ("v2", True, True),
        ("v1", True, False),
        ("v0", False, False),
    ]
    assert crd["spec"]["versions"][1]["deprecationWarning"] == "old"
    assert crd["spec"]["conversion"]["strategy"] == "Webhook"


def test_columns_and_subresources(car):
    stored = crd_of(car.INFO)["spec"]["versions"][0]
    assert stored["additionalPrinterColumns"] == [
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        {"name": "Wide", "type": "string", "jsonPath": ".spec.wide", "priority": 1},
    ]
    assert stored["subresources"]["status"] == {}
    assert stored["subresources"]["scale"]["labelSelectorPath"] == ".status.labelSelector"
    assert stored["selectableFields"] == [{"jsonPath": ".spec.color"}]


def test_an_override_changes_its_version_only(car):
    stored, older, oldest = (
        each["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        for each in crd_of(car.INFO)["spec"]["versions"]
    )
    assert (stored["wheels"]["maxItems"], older["wheels"]["maxItems"]) == (9, 18)
    size = [each["wheels"]["items"]["properties"]["size"]["type"] for each in (stored, older, oldest)]
    assert size == ["integer", "integer", "string"]
    assert oldest["spare"]["properties"]["size"]["type"] == "integer"


def test_the_stored_version_alone_has_descriptions(car):
    stored, older, _ = (each["schema"]["openAPIV3Schema"] for each in crd_of(car.INFO)["spec"]["versions"])
    assert stored["description"] == "A car."
    assert "description" not in str(older)


def test_apiversion_kind_and_metadata_are_left_to_the_server(car):
    schema = crd_of(car.INFO)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert schema["required"] == ["spec"]
    assert schema["properties"]["metadata"] == {"type": "object"}


def test_a_kind_reads_and_writes_itself(car):
    made = car.from_object({"metadata": {"name": "a"}, "spec": {}})
    assert made.to_object() == {
        "apiVersion": "test.local/v2",
        "kind": "Car",
        "metadata": {"name": "a"},
        "spec": {},
    }
    assert resource_of(car, "v1") == Resource("test.local", "v1", "cars", "Car")


def test_a_kind_is_declared_once(car):
    with pytest.raises(TypeError, match="twice"):

        @kind(group="test.local", plural="autos", name="Car", versions=(Version("v1"),))
        class Auto(Kind):
            """Another car."""


def test_defaults_are_filled_at_every_depth(car):
    obj = {"spec": {"wheels": [{}, {"size": 1}, "flat"], "spare": {}}}
    fill(CarSpec, obj["spec"])
    assert obj["spec"] == {"wheels": [{"size": 3}, {"size": 1}, "flat"], "spare": {"size": 3}}


@pytest.mark.parametrize("info", registry.kinds(), ids=lambda info: info.crd_name)
def test_ours_are_taken_by_an_api_server(info):
    crd = registry.copy_json(crd_of(info))
    custom.default_crd(crd)
    assert custom.check_crd(crd, None) == []


KUBEVIRT_COLUMNS = {
    "VirtualMachine": ["Age", "Status", "Ready"],
    "VirtualMachineInstance": ["Age", "Phase", "IP", "NodeName", "Ready", "Live-Migratable", "Paused"],
    "VirtualMachineInstanceReplicaSet": ["Desired", "Current", "Ready", "Age"],
}


@pytest.mark.parametrize(("name", "columns"), KUBEVIRT_COLUMNS.items())
def test_columns_are_those_of_kubevirt(name, columns):
    info = registry.find("kubevirt.io", name)
    assert [column.name for column in info.columns] == columns
    assert [column.name for column in info.columns if column.priority] == [
        name for name in columns if name in ("Live-Migratable", "Paused")
    ]


def test_names_for_kubectl_do_not_clash():
    names = [name for info in registry.kinds() for name in (info.plural, info.singular, *info.short_names)]
    assert sorted(names) == sorted(set(names))


def test_crds_fit_into_the_annotation_of_kubectl_apply():
    for crd in registry.crds():
        assert len(msgspec.json.encode(crd)) < 240_000, crd["metadata"]["name"]
