import pytest

from ingot.api.object import Object
from ingot.standalone.builtin import schemas
from ingot.standalone.schema import Schema

KEPT = {"x-kubernetes-preserve-unknown-fields": True}


def schema_of(**properties: Object) -> Schema:
    return Schema({"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}})


@pytest.mark.parametrize(
    ("schema", "value", "paths", "pruned"),
    [
        ({"type": "string"}, {"b": 1}, ["spec.a.b"], {}),
        ({"type": "object"}, {"b": {"c": 1}, "d": 2}, ["spec.a.b", "spec.a.d"], {}),
        ({"type": "array", "items": {"type": "object"}}, [{"b": 1}, {}], ["spec.a[0].b"], [{}, {}]),
        ({"type": "array"}, [[{"b": 1}]], ["spec.a[0][0].b"], [[{}]]),
        ({"type": "object", "additionalProperties": {"type": "object"}}, {"k": {"b": 1}}, ["spec.a.k.b"], {"k": {}}),
        ({"type": "object", "additionalProperties": True}, {"k": {"b": 1}}, ["spec.a.k.b"], {"k": {}}),
        (KEPT, {"b": {"c": [{"d": 1}]}}, [], {"b": {"c": [{"d": 1}]}}),
        (
            {"type": "object", "properties": {"k": {"type": "object"}}, **KEPT},
            {"k": {"b": 1}, "free": {"c": 1}},
            ["spec.a.k.b"],
            {"k": {}, "free": {"c": 1}},
        ),
        (
            {"type": "array", "items": {"type": "object", **KEPT}},
            [{"b": 1}],
            [],
            [{"b": 1}],
        ),
        (
            {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": {"type": "object"}}},
            {"apiVersion": "v1", "kind": "A", "metadata": {"name": "x"}, "spec": {"b": 1}, "other": 1},
            ["spec.a.other", "spec.a.spec.b"],
            {"apiVersion": "v1", "kind": "A", "metadata": {"name": "x"}, "spec": {}},
        ),
    ],
)
def test_fields_without_a_schema_are_found_and_removed(
    schema: Object, value: object, paths: list[str], pruned: object
) -> None:
    obj = {"apiVersion": "v1", "kind": "A", "metadata": {"anything": {"goes": 1}}, "spec": {"a": value}}
    made = schema_of(a=schema)
    assert made.unknown(obj) == paths
    made.prune(obj)
    assert obj["spec"] == {"a": pruned}
    assert obj["metadata"] == {"anything": {"goes": 1}}


def test_unknown_fields_of_kubernetes_own_kinds_are_found() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "x", "foo": 1, "managedFields": [{"fieldsV1": {"f:spec": {}}}]},
        "spec": {
            "containers": [{"name": "a", "resources": {"limits": {"cpu": 1}}, "bar": 2}],
            "nodeSelector": {"a": "b"},
        },
        "zz": {},
    }
    schema = Schema(schemas.resolved("io.k8s.api.core.v1.Pod"))
    assert schema.unknown(pod) == ["metadata.foo", "spec.containers[0].bar", "zz"]


def test_a_schema_that_contains_itself_can_be_walked() -> None:
    name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"
    inner = {"type": "object", "properties": {"a": {"properties": {"b": {"properties": {"c": {"foo": 1}}}}}}}
    crd = {"spec": {"versions": [{"schema": {"openAPIV3Schema": inner}}], "names": {}}}
    schema = Schema(schemas.resolved(name))
    where = "spec.versions[0].schema.openAPIV3Schema.properties.a.properties.b.properties.c.foo"
    assert schema.unknown(crd) == [where]


@pytest.mark.parametrize("kind", ["list", "map"])
@pytest.mark.parametrize("schema", [{"type": "string"}, KEPT, {"type": "object"}, {"type": "string", "enum": ["a"]}])
def test_depth_is_no_danger(kind: str, schema: Object) -> None:
    value: object = 1
    for _ in range(20_000):
        value = [value] if kind == "list" else {"a": value}
    made = schema_of(a=schema)
    obj: Object = {"apiVersion": "v1", "kind": "A", "metadata": {}, "spec": {"a": value}}
    made.unknown(obj)
    causes = made.check(obj)
    assert bool(causes) == (schema is not KEPT and not (kind == "map" and schema == {"type": "object"}))
    made.prune(obj)
    made.default(obj)
