"""Whatever is encoded comes back as it was, of every kind that a body may be of."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from protobuf_encoder import body
from protobuf_objects import objects, schema_names

from ingot.api.object import Object, join_api_version
from ingot.standalone.builtin import schemas
from ingot.standalone.protobuf import decode


def head(name: str) -> Object:
    """Kind and apiVersion of the kind that a schema describes."""
    known = schemas.resolved(name)["x-kubernetes-group-version-kind"]
    found = next(entry for entry in known if entry["version"] == "v1")
    return {"kind": found["kind"], "apiVersion": join_api_version(found["group"], "v1")}


@pytest.mark.parametrize("name", sorted(schema_names()))
@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_an_object_comes_back_as_it_was(name: str, data: st.DataObject) -> None:
    obj = {**head(name), **data.draw(objects(schemas.resolved(name)))}
    assert decode(body(name, obj)) == obj


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_schemas_of_custom_resources_come_back_as_they_were(data: st.DataObject) -> None:
    name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"
    props = data.draw(objects(schemas.resolved(name.replace("CustomResourceDefinition", "JSONSchemaProps"))))
    obj = {**head(name), "spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": props}}]}}
    decoded = decode(body(name, obj))
    assert decoded["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == props
