"""OpenAPI documents: complete, and with what kubectl looks for."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ingot.standalone.builtin import schemas
from ingot.standalone.builtin.kinds import DEFINITIONS
from ingot.standalone.openapi import OpenApi
from ingot.standalone.resources.definition import Definition, Scale, Version

SCHEMA = {
    "type": "object",
    "description": "A widget.",
    "properties": {
        "metadata": schemas.resolved(schemas.OBJECT_META),
        "spec": {"type": "object", "properties": {"replicas": {"type": "integer", "description": "How many."}}},
    },
}
WIDGET = Definition(
    "y.example.com",
    "Widget",
    "widgets",
    "widget",
    True,
    {"v1": Version("v1", SCHEMA, scale=Scale(".spec.replicas", ".status.replicas"))},
    "v1",
    list_kind="WidgetList",
    custom=True,
    subresources=frozenset({"status", "scale"}),
)


@pytest.fixture(scope="module")
def api() -> OpenApi:
    return OpenApi([*DEFINITIONS, WIDGET])


def document(api: OpenApi, place: str) -> Any:
    answer = api.answer(f"/openapi/v3/{place}")
    assert answer is not None
    return json.loads(answer.content)


def places(api: OpenApi) -> dict[str, str]:
    index = api.answer("/openapi/v3")
    assert index is not None
    return {place: entry["serverRelativeURL"] for place, entry in json.loads(index.content)["paths"].items()}


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        # In the schema of schemas `$ref` is also the name of a field.
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].removeprefix(schemas.REFERENCE)
        for child in value.values():
            yield from references(child)
    elif isinstance(value, list):
        for child in value:
            yield from references(child)


def test_the_index_names_every_document_by_its_content(api: OpenApi) -> None:
    found = places(api)
    assert {"api/v1", "apis/storage.k8s.io/v1", "apis/y.example.com/v1"} <= found.keys()
    for place, address in found.items():
        answer = api.answer(f"/openapi/v3/{place}")
        assert answer is not None
        assert address == f"/openapi/v3/{place}?hash={answer.etag.strip(chr(34))}"


def test_every_reference_can_be_followed(api: OpenApi) -> None:
    for place in places(api):
        found = document(api, place)
        assert set(references(found)) <= found["components"]["schemas"].keys()


def test_documents_change_with_the_kinds() -> None:
    before, after = OpenApi(DEFINITIONS), OpenApi([*DEFINITIONS, WIDGET])
    assert places(before)["api/v1"] == places(after)["api/v1"]
    assert "apis/y.example.com/v1" not in places(before)
    assert before.answer("/openapi/v3") != after.answer("/openapi/v3")


def test_kubectl_finds_kinds_and_the_parameters_of_their_patches(api: OpenApi) -> None:
    for place in places(api):
        found = document(api, place)
        kinds = set()
        for operations in found["paths"].values():
            if patch := operations.get("patch"):
                named = patch["x-kubernetes-group-version-kind"]
                kinds.add((named["group"], named["version"], named["kind"]))
                assert "fieldValidation" in [parameter["name"] for parameter in patch["parameters"]]
        described = {
            (named["group"], named["version"], named["kind"])
            for schema in found["components"]["schemas"].values()
            for named in schema.get("x-kubernetes-group-version-kind", ())
        }
        assert kinds <= described


def test_paths_of_a_namespaced_kind(api: OpenApi) -> None:
    found = document(api, "apis/y.example.com/v1")["paths"]
    root = "/apis/y.example.com/v1/namespaces/{namespace}/widgets"
    assert {path: sorted(operations.keys() - {"parameters"}) for path, operations in found.items()} == {
        "/apis/y.example.com/v1/widgets": ["get"],
        root: ["delete", "get", "post"],
        f"{root}/{{name}}": ["delete", "get", "patch", "put"],
        f"{root}/{{name}}/scale": ["get", "patch", "put"],
        f"{root}/{{name}}/status": ["get", "patch", "put"],
    }
    assert [each["name"] for each in found[f"{root}/{{name}}"]["parameters"]] == ["name", "namespace"]
    kinds = found[f"{root}/{{name}}"]["patch"]["requestBody"]["content"]
    assert "application/strategic-merge-patch+json" not in kinds
    assert "application/apply-patch+yaml" in kinds


def test_operations_have_names_of_their_own(api: OpenApi) -> None:
    for place in places(api):
        named = [
            operation["operationId"]
            for operations in document(api, place)["paths"].values()
            for method, operation in operations.items()
            if method != "parameters"
        ]
        assert len(named) == len(set(named)), place


def test_a_custom_resource_has_the_metadata_of_every_object(api: OpenApi) -> None:
    found = document(api, "apis/y.example.com/v1")["components"]["schemas"]
    widget = found["com.example.y.v1.Widget"]
    assert widget["properties"]["metadata"]["allOf"] == [{"$ref": schemas.REFERENCE + schemas.OBJECT_META}]
    assert widget["properties"]["spec"]["properties"]["replicas"]["description"] == "How many."
    assert found["com.example.y.v1.WidgetList"]["required"] == ["items"]
    assert "properties" in SCHEMA["properties"]["metadata"], "the schema itself is left as it was"  # type: ignore[index]


def test_kubernetes_kinds_are_described(api: OpenApi) -> None:
    found = document(api, "api/v1")["components"]["schemas"]
    pod = found["io.k8s.api.core.v1.Pod"]
    assert pod["description"]
    assert pod["properties"]["spec"]["allOf"] == [{"$ref": schemas.REFERENCE + "io.k8s.api.core.v1.PodSpec"}]
    ports = found["io.k8s.api.core.v1.Container"]["properties"]["ports"]
    assert ports["x-kubernetes-list-map-keys"] == ["containerPort", "protocol"]


@pytest.mark.parametrize("path", ["/openapi/v2/api", "/openapi/v3/apis/nope/v1", "/openapi"])
def test_other_documents_are_absent(api: OpenApi, path: str) -> None:
    assert api.answer(path) is None
