"""What a body must be to become an object at all."""

from typing import Any

import pytest

from ingot.api.object import Object
from ingot.api.status import ApiError
from ingot.standalone.access.user import User
from ingot.standalone.objects.body import Body
from ingot.standalone.objects.call import Call
from ingot.standalone.objects.intake import baptize, take
from ingot.standalone.resources.definition import Definition, Version
from ingot.standalone.resources.served import Served

INNER: Object = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
SCHEMA = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"inner": INNER}}}}
BOXES = Definition("wire.test", "Box", "boxes", "box", True, {"v1": Version("v1", SCHEMA)}, "v1", custom=True)


def taken(metadata: Any, inner: Object) -> Object:
    call = Call(Served(BOXES, BOXES.versions["v1"]), "create", "default", "", "", User("somebody"), {})
    box = {"apiVersion": "wire.test/v1", "kind": "Box", "metadata": metadata, "spec": {"inner": inner}}
    return take(call, Body(box))


@pytest.mark.parametrize(
    ("metadata", "inner", "message"),
    [
        (1, {}, "json: cannot unmarshal number into Go value of type v1.ObjectMeta"),
        ({}, {"kind": 5}, "spec.inner.kind: Invalid value: 5: must be a string"),
        (
            {},
            {"metadata": 5},
            "spec.inner.metadata: Invalid value: 5: json: cannot unmarshal number into Go value of type v1.ObjectMeta",
        ),
    ],
)
def test_metadata_that_cannot_be_read_is_a_bad_request(metadata: Any, inner: Object, message: str) -> None:
    with pytest.raises(ApiError) as refused:
        taken(metadata, inner)
    assert refused.value.code == 400
    assert refused.value.message == f'Box in version "v1" cannot be handled as a Box: {message}'


def test_a_resource_inside_another_is_kept_as_it_is() -> None:
    inner = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "odd": 1}
    assert taken({"name": "b"}, inner)["spec"]["inner"] == inner


def test_a_generated_name_fits_a_label_and_a_given_one_stays() -> None:
    made: Object = {"metadata": {"generateName": "p" * 80}}
    baptize(made)
    assert made["metadata"]["name"][:58] == "p" * 58
    assert len(made["metadata"]["name"]) == 63
    given: Object = {"metadata": {"name": "a", "generateName": "p"}}
    baptize(given)
    assert given["metadata"]["name"] == "a"
    assert given["metadata"]["uid"] != made["metadata"]["uid"]
