"""Schemas by name: shared, cyclic, without descriptions."""

import msgspec
import pytest

from ingot.standalone.builtin import schemas

POD = "io.k8s.api.core.v1.Pod"
PROPS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"


def test_references_become_the_very_dictionary_that_they_name() -> None:
    pod = schemas.resolved(POD)
    assert pod is schemas.resolved(POD)
    assert pod["properties"]["metadata"] is schemas.resolved(schemas.OBJECT_META)
    container = pod["properties"]["spec"]["properties"]["containers"]["items"]
    assert schemas.name_of(container) == "io.k8s.api.core.v1.Container"


def test_a_schema_may_contain_itself() -> None:
    props = schemas.resolved(PROPS)
    assert props["properties"]["not"] is props
    assert props["properties"]["properties"]["additionalProperties"] is props


def test_a_field_called_description_survives_where_descriptions_go() -> None:
    props = schemas.resolved(PROPS)
    assert "description" not in props
    assert props["properties"]["description"] == {"type": "string"}
    assert b'"description"' in bytes(schemas.raw(PROPS))


def test_keys_beside_a_reference_stay_and_the_name_too() -> None:
    claim = schemas.resolved("io.k8s.api.core.v1.PersistentVolumeSpec")["properties"]["claimRef"]
    assert claim["x-kubernetes-map-type"] == "granular"
    reference = "io.k8s.api.core.v1.ObjectReference"
    assert schemas.name_of(claim) == reference
    assert schemas.resolved(reference)["x-kubernetes-map-type"] == "atomic"


def test_list_keys_have_the_defaults_that_apply_needs() -> None:
    port = schemas.resolved("io.k8s.api.core.v1.ContainerPort")
    assert port["properties"]["protocol"]["default"] == "TCP"


def test_closure_reaches_everything_that_is_referred_to() -> None:
    names = schemas.closure([POD])
    assert names == sorted(set(names))
    assert {POD, schemas.OBJECT_META, schemas.QUANTITY, "io.k8s.api.core.v1.Probe"} <= set(names)
    assert "io.k8s.api.core.v1.ConfigMap" not in names


def test_every_schema_resolves() -> None:
    for name in schemas.names():
        assert isinstance(schemas.resolved(name), dict)
        assert isinstance(msgspec.json.decode(schemas.raw(name)), dict)


def test_an_unknown_name_is_told() -> None:
    with pytest.raises(KeyError):
        schemas.resolved("io.k8s.api.core.v1.Nothing")
