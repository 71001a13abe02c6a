"""The one form of an object: what a typed reader and writer would make of it."""

from typing import Any

from ingot.standalone.builtin import schemas
from ingot.standalone.builtin.canonical import canonical

CORE = "io.k8s.api.core.v1"


def made(name: str, obj: dict[str, Any]) -> dict[str, Any]:
    canonical(schemas.resolved(name), obj)
    return obj


def test_empty_optional_values_vanish_and_pointers_stay() -> None:
    spec = {
        "hostNetwork": False,
        "automountServiceAccountToken": False,
        "nodeSelector": {},
        "hostname": "",
        "activeDeadlineSeconds": 0,
        "containers": [{"name": "a", "args": [], "stdin": False}],
        "volumes": [{"name": "v", "emptyDir": {}}],
    }
    pod = made(f"{CORE}.Pod", {"metadata": {"name": "x", "labels": {}}, "spec": spec})
    assert pod == {
        "metadata": {"name": "x", "creationTimestamp": None},
        "spec": {
            "automountServiceAccountToken": False,
            "activeDeadlineSeconds": 0,
            "containers": [{"name": "a", "resources": {}}],
            "volumes": [{"name": "v", "emptyDir": {}}],
        },
        "status": {},
    }


def test_nulls_go_but_keys_of_maps_stay() -> None:
    obj = made(f"{CORE}.ConfigMap", {"metadata": {"name": "x"}, "immutable": None, "data": {"a": None, "b": "c"}})
    assert obj == {"metadata": {"name": "x", "creationTimestamp": None}, "data": {"a": "", "b": "c"}}


def test_fields_that_are_always_written_are_written() -> None:
    role = made("io.k8s.api.rbac.v1.Role", {"metadata": {"name": "x"}, "rules": []})
    assert role["rules"] is None
    event = made(f"{CORE}.Event", {"metadata": {"name": "x"}, "involvedObject": {}})
    assert event["source"] == {}
    assert event["eventTime"] is None
    assert event["reportingComponent"] == ""
    reference = {"kind": "PersistentVolumeClaim", "name": "y"}
    claim = made(f"{CORE}.PersistentVolumeClaim", {"metadata": {}, "spec": {"dataSource": reference}})
    assert claim["spec"] == {"dataSource": {**reference, "apiGroup": None}, "resources": {}}


def test_quantities_and_times_take_their_one_form() -> None:
    limits = {"cpu": "1000m", "memory": 0.5, "x.io/y": "100n"}
    metadata = {"name": "x", "creationTimestamp": "2020-01-01T00:00:00+01:00"}
    pod = made(f"{CORE}.Pod", {"metadata": metadata, "spec": {"containers": [{"resources": {"limits": limits}}]}})
    assert pod["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "1", "memory": "500m", "x.io/y": "1m"}
    assert pod["metadata"]["creationTimestamp"] == "2019-12-31T23:00:00Z"
    template = {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "1024Mi"}}}}}
    pod = made(f"{CORE}.Pod", {"metadata": {}, "spec": {"volumes": [{"name": "e", "ephemeral": template}]}})
    claim = pod["spec"]["volumes"][0]["ephemeral"]["volumeClaimTemplate"]
    assert claim["spec"]["resources"]["requests"]["storage"] == "1Gi"
    assert claim["metadata"] == {"creationTimestamp": None}


def test_schemas_inside_schemas_are_reached() -> None:
    schema = {"items": {"type": "string", "nullable": False}, "additionalProperties": True, "default": None}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"
    crd = made(name, {"metadata": {}, "spec": {"versions": [version]}})
    assert crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == {
        "items": {"type": "string"},
        "additionalProperties": True,
    }


def test_a_second_time_changes_nothing() -> None:
    obj = {"metadata": {"name": "x"}, "spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": ".5"}}}]}}
    once = made(f"{CORE}.Pod", obj)
    twice = made(f"{CORE}.Pod", {**once})
    assert once == twice
