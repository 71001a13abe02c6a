"""The tables of field numbers hold every field of every structure that a body can have."""

import pytest
from protobuf_objects import schema_names

from ingot.standalone.builtin import schemas
from ingot.standalone.protobuf import numbers
from ingot.standalone.protobuf.messages import Field, Inline, Message
from ingot.standalone.protobuf.plans import EITHER, message
from ingot.standalone.protobuf.types import SPECIAL

REACHED = schemas.closure(schema_names())
STRUCTURES = [name for name in REACHED if "properties" in schemas.resolved(name)]
# A structure that says everything by being there.
EMPTY = {"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceSubresourceStatus"}


def fields(of: Message) -> list[Field]:
    found: list[Field] = []
    for field in of.fields.values():
        found += fields(field.message) if isinstance(field, Inline) else [field]
    return found


@pytest.mark.parametrize("name", STRUCTURES)
def test_every_field_has_a_number(name: str) -> None:
    schema = schemas.resolved(name)
    expected = set(schema["properties"])
    if "x-kubernetes-group-version-kind" in schema:
        # Those stand in the envelope.
        expected -= {"apiVersion", "kind"}
    assert {field.name for field in fields(message(name))} == expected


def test_what_is_no_structure_is_known() -> None:
    assert set(REACHED) - set(STRUCTURES) == {*SPECIAL, *EITHER, *EMPTY}


@pytest.mark.parametrize("name", STRUCTURES)
def test_no_number_stands_for_two_fields(name: str) -> None:
    table = numbers.of(name)
    assert len(set(table.values())) == len(table)
    assert min(table.values()) > 0


def test_pods_and_their_volumes_have_the_numbers_that_kubernetes_gave_them() -> None:
    assert numbers.of("io.k8s.api.core.v1.Pod") == {"metadata": 1, "spec": 2, "status": 3}
    assert numbers.of("io.k8s.api.core.v1.Volume") == {"name": 1, "+VolumeSource": 2}
    assert numbers.of("io.k8s.api.core.v1.VolumeSource")["persistentVolumeClaim"] == 10
    assert numbers.of("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")["managedFields"] == 17
