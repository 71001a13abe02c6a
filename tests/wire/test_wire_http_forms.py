"""The forms of an answer: Tables, metadata only, YAML, and what cannot be had."""

from typing import Any

import pytest

from ingot.api.object import Object
from ingot.kube.client import Client
from wire.customs import gadget, served, shared, version
from wire.exchange import Exchange
from wire.kinds import CLAIMS, CONFIG_MAPS, NAMESPACES, PODS, SECRETS, SERVICES, claim, config_map, pod

TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}
METADATA = {"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
METADATA_LIST = {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}


@pytest.fixture
async def path(client: Client, namespace: str) -> str:
    """A collection with one labelled ConfigMap, named `one`."""
    made = config_map("one", {"of": "case"}, a="1", b="2")
    made["metadata"]["namespace"] = namespace
    await client.create(CONFIG_MAPS, made, field_manager="wire")
    return CONFIG_MAPS.path(namespace)


async def test_a_list_as_a_table(http: Exchange, path: str) -> None:
    answer = await http.get(path, headers=TABLE, labelSelector="of=case")
    assert answer.body["kind"] == "Table"
    assert [row["cells"][:2] for row in answer.body["rows"]] == [["one", 2]]


async def test_one_object_as_a_table(http: Exchange, path: str) -> None:
    answer = await http.get(f"{path}/one", headers=TABLE)
    assert len(answer.body["rows"]) == 1


async def test_an_empty_list_as_a_table_has_its_columns(http: Exchange, path: str) -> None:
    answer = await http.get(path, headers=TABLE, labelSelector="of=nobody")
    assert answer.body["rows"] == []
    assert answer.body["columnDefinitions"]


async def test_a_table_includes_as_much_of_the_object_as_asked(http: Exchange, path: str) -> None:
    kinds: dict[str, Any] = {}
    for include in ("None", "Metadata", "Object"):
        answer = await http.get(f"{path}/one", headers=TABLE, includeObject=include)
        kinds[include] = (answer.body["rows"][0].get("object") or {}).get("kind")
    assert kinds == {"None": None, "Metadata": "PartialObjectMetadata", "Object": "ConfigMap"}
    assert (await http.get(f"{path}/one", headers=TABLE, includeObject="Half")).status == 400


async def test_tables_of_many_kinds(http: Exchange, client: Client, namespace: str) -> None:
    service: Object = {"metadata": {"name": "one"}, "spec": {"clusterIP": "None", "ports": [{"port": 80}]}}
    for resource, obj in (
        (PODS, pod("one", nodeName="node-1")),
        (CLAIMS, claim("one")),
        (SECRETS, {"metadata": {"name": "one"}, "stringData": {"a": "b"}}),
        (SERVICES, service),
    ):
        await client.create(resource, {**obj, "metadata": {**obj["metadata"], "namespace": namespace}})
        answer = await http.get(resource.path(namespace), headers=TABLE, includeObject="None")
        assert answer.body["rows"], resource
    answer = await http.get(NAMESPACES.path(name=namespace), headers=TABLE, includeObject="None")
    assert answer.body["rows"][0]["cells"][1] == "Active"


async def test_columns_of_a_custom_kind_are_its_own(http: Exchange, client: Client, namespace: str) -> None:
    columns = [
        {"name": "Colour", "type": "string", "jsonPath": ".spec.colour", "description": "how it looks"},
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1},
        {"name": "Part", "type": "string", "jsonPath": '.spec.parts[?(@.name=="b")].count'},
        {"name": "Parts", "type": "string", "jsonPath": ".spec.parts[*].name"},
        {"name": "Missing", "type": "string", "jsonPath": ".spec.note"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    resource = await served(client, namespace, version(additionalPrinterColumns=columns))
    obj = gadget(resource, "one", parts=[{"name": "a"}, {"name": "b", "count": 7}])
    obj["metadata"]["namespace"] = namespace
    await client.create(resource, obj)
    answer = await http.get(resource.path(namespace), headers=TABLE, includeObject="None")
    assert answer.body["rows"][0]["cells"][:3] == ["one", "red", 3]


async def test_a_custom_kind_without_columns_has_two(http: Exchange, client: Client, namespace: str) -> None:
    resource = await shared(client)
    answer = await http.get(resource.path(namespace), headers=TABLE)
    assert [column["name"] for column in answer.body["columnDefinitions"]] == ["Name", "Age"]


async def test_an_object_can_be_had_without_its_content(http: Exchange, path: str) -> None:
    answer = await http.get(f"{path}/one", headers=METADATA)
    assert (answer.body["kind"], "data" in answer.body) == ("PartialObjectMetadata", False)
    answer = await http.get(path, headers=METADATA_LIST, labelSelector="of=case")
    assert answer.body["kind"] == "PartialObjectMetadataList"


async def test_writes_answer_in_the_form_that_is_asked_for(http: Exchange, path: str) -> None:
    answer = await http.send("POST", path, config_map("two"), headers=METADATA)
    assert (answer.status, answer.body["kind"]) == (201, "PartialObjectMetadata")
    answer = await http.send("DELETE", f"{path}/two", headers=TABLE)
    assert answer.status == 200


async def test_answers_come_as_yaml(http: Exchange, path: str) -> None:
    answer = await http.get(f"{path}/one", headers={"Accept": "application/yaml"}, view=lambda text: text[:24])
    assert answer.body.startswith("apiVersion: v1\ndata:\n")


async def test_bodies_come_as_yaml(http: Exchange, path: str) -> None:
    text = "kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: two\ndata:\n  a: 'yes'\n"
    answer = await http.send("POST", path, text, headers={"Content-Type": "application/yaml"})
    assert (answer.status, answer.body["data"]) == (201, {"a": "yes"})


async def test_a_form_that_is_not_known_is_not_acceptable(http: Exchange, path: str) -> None:
    for accept in ("text/html", "application/xml", "application/json;as=Poem;v=v1;g=meta.k8s.io"):
        answer = await http.get(f"{path}/one", headers={"Accept": accept})
        assert answer.status == 406, accept


async def test_the_first_form_that_can_be_had_is_taken(http: Exchange, path: str) -> None:
    for accept in ("text/html, application/json", "*/*", "application/*", ""):
        answer = await http.get(f"{path}/one", headers={"Accept": accept})
        assert answer.headers["Content-Type"] == "application/json", accept


async def test_a_body_of_another_media_type_is_refused(http: Exchange, path: str) -> None:
    for media in ("text/plain", "application/xml", "application/x-www-form-urlencoded", "garbage"):
        answer = await http.send("POST", path, config_map("two"), headers={"Content-Type": media})
        assert answer.status == 415, media
    for media in ("application/json", "text/plain", "application/patch"):
        answer = await http.send("PATCH", f"{path}/one", {"data": {}}, headers={"Content-Type": media})
        assert answer.status == 415, media


async def test_a_body_without_a_media_type_is_json(http: Exchange, path: str) -> None:
    answer = await http.send("POST", path, config_map("two"), headers={"Content-Type": ""})
    assert answer.status == 201


async def test_pretty_answers_are_indented(http: Exchange, path: str) -> None:
    answer = await http.get(f"{path}/one", pretty="true", raw=True, view=lambda text: text[:40])
    assert answer.body.startswith('{\n  "kind": "ConfigMap",\n')


async def test_answers_come_as_protobuf(http: Exchange, path: str) -> None:
    headers = {"Accept": "application/vnd.kubernetes.protobuf"}
    answer = await http.get(f"{path}/one", headers=headers, view=lambda body: str(body)[:3])
    assert answer.headers["Content-Type"] == "application/vnd.kubernetes.protobuf"


async def test_who_prefers_protobuf_is_content_with_json(http: Exchange, client: Client, namespace: str) -> None:
    resource = await shared(client)
    headers = {"Accept": "application/vnd.kubernetes.protobuf, application/json"}
    answer = await http.get(resource.path(namespace), headers=headers)
    assert answer.headers["Content-Type"] == "application/json"
