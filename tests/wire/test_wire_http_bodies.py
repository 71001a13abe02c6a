"""Bodies that are wrong in every way that a body can be wrong."""

import json
from typing import Any

import pytest

from ingot.kube.client import Client
from wire.customs import gadget, shared
from wire.exchange import Exchange
from wire.kinds import CONFIG_MAPS, PODS, config_map, pod


@pytest.fixture
def path(namespace: str) -> str:
    return CONFIG_MAPS.path(namespace)


async def test_a_body_of_five_megabytes_is_too_large(http: Exchange, path: str) -> None:
    body = json.dumps(config_map("one", a="x" * 5_000_000))
    for method, target in (("POST", path), ("PUT", f"{path}/one"), ("PATCH", f"{path}/one")):
        media = "application/merge-patch+json" if method == "PATCH" else "application/json"
        answer = await http.send(method, target, body, headers={"Content-Type": media})
        assert answer.status == 413, method


async def test_an_object_of_more_than_a_megabyte_is_refused_by_its_kind(http: Exchange, path: str) -> None:
    answer = await http.send("POST", path, config_map("one", a="x" * (1024 * 1024 + 1)))
    assert answer.status == 422


async def test_a_body_that_is_no_json_is_a_bad_request(http: Exchange, path: str) -> None:
    for body in ("{", "not json", "{]", '{"a": 1,}', "nul", "'"):
        assert (await http.send("POST", path, body)).status == 400, body


async def test_a_body_that_is_no_object_is_a_bad_request(http: Exchange, path: str) -> None:
    for body in ("[]", "1", '"text"', "null", "true", "[{}]"):
        assert (await http.send("POST", path, body)).status >= 400, body


async def test_an_empty_body_is_refused(http: Exchange, path: str) -> None:
    for body in (b"", b"{}", b" "):
        answer = await http.send("POST", path, body)
        assert answer.status in (400, 422), body


async def test_a_body_that_is_not_utf8_is_taken_with_replacements(http: Exchange, path: str) -> None:
    body = json.dumps(config_map("one", a="?")).encode()
    answer = await http.send("POST", path, body.replace(b"?", b"\xff\xfe"))
    assert answer.status in (201, 400)


async def test_a_body_that_nests_too_deep_is_refused(http: Exchange, path: str) -> None:
    deep = '{"a":' * 20_000 + "1" + "}" * 20_000
    assert (await http.send("POST", path, deep)).status == 400
    deep = '{"kind":"ConfigMap","apiVersion":"v1","metadata":' + "[" * 20_000 + "]" * 20_000 + "}"
    assert (await http.send("POST", path, deep)).status == 400


async def test_wrong_types_in_a_config_map_are_told_by_field(http: Exchange, path: str) -> None:
    for change in (
        {"data": "text"},
        {"data": {"a": 1}},
        {"data": {"a": None}},
        {"data": ["a"]},
        {"immutable": "yes"},
        {"binaryData": {"a": "not base64!"}},
        {"metadata": "text"},
        {"metadata": {"name": 1}},
        {"metadata": {"name": "one", "labels": {"a": True}}},
        {"metadata": {"name": "one", "labels": ["a"]}},
        {"metadata": {"name": "one", "finalizers": "a"}},
        {"metadata": {"name": "one", "creationTimestamp": "yesterday"}},
        {"metadata": {"name": "one", "ownerReferences": [1]}},
    ):
        answer = await http.send("POST", path, {**config_map("one"), **change}, dryRun="All")
        assert answer.status in (201, 400), change


async def test_wrong_types_in_a_pod_are_told_by_field(http: Exchange, namespace: str) -> None:
    container = {"name": "main", "image": "registry.test/app:1"}
    for change in (
        {"containers": "text"},
        {"containers": [1]},
        {"containers": [{**container, "ports": [{"containerPort": "eighty"}]}]},
        {"containers": [{**container, "resources": {"limits": {"memory": "much"}}}]},
        {"containers": [{**container, "resources": {"limits": {"memory": True}}}]},
        {"containers": [{**container, "livenessProbe": {"httpGet": {"port": 1.5}}}]},
        {"containers": [{**container, "securityContext": {"runAsUser": "root"}}]},
        {"terminationGracePeriodSeconds": "30"},
        {"hostNetwork": 1},
        {"nodeSelector": {"a": 1}},
        {"volumes": {"name": "a"}},
    ):
        answer = await http.send("POST", PODS.path(namespace), pod("one", **change))
        assert answer.status == 400, change


async def test_wrong_types_in_a_custom_kind_are_told_by_field(http: Exchange, client: Client, namespace: str) -> None:
    resource = await shared(client)
    good = gadget(resource, "one")
    changes: list[Any] = [
        {"spec": []},
        {"spec": None},
        {"spec": {"colour": 1}},
        {"spec": {"colour": "red", "limits": {"a": 1.5}}},
        {"spec": {"colour": "red", "parts": "text"}},
        {"spec": {"colour": "red", "tags": [1]}},
        {"metadata": {"name": "one", "labels": {"a": 1}}},
        {"metadata": []},
    ]
    for change in changes:
        answer = await http.send("POST", resource.path(namespace), {**good, **change}, dryRun="All")
        assert answer.status in (201, 400, 422, 500), change


async def test_another_kind_or_version_does_not_belong_here(http: Exchange, path: str) -> None:
    for change in (
        {"kind": "Secret"},
        {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1"},
        {"kind": "Nonsense"},
        {"apiVersion": "v2"},
        {"apiVersion": "apps/v1"},
        {"apiVersion": "a/b/c"},
        {"kind": ""},
        {"kind": 1},
    ):
        answer = await http.send("POST", path, {**config_map("one"), **change})
        assert answer.status in (201, 400), change


async def test_kind_and_version_may_be_left_out(http: Exchange, path: str) -> None:
    answer = await http.send("POST", path, {"metadata": {"name": "one"}})
    assert (answer.status, answer.body["kind"]) == (201, "ConfigMap")


async def test_a_custom_kind_must_say_what_it_is(http: Exchange, client: Client, namespace: str) -> None:
    resource = await shared(client)
    for change in ({"kind": ""}, {"apiVersion": ""}, {"kind": "Widget"}):
        answer = await http.send("POST", resource.path(namespace), {**gadget(resource, "one"), **change})
        assert answer.status in (400, 422), change


async def test_a_body_of_a_custom_kind_is_an_object(http: Exchange, client: Client, namespace: str) -> None:
    resource = await shared(client)
    for body in ("{", "", "[]", "null", "1", '"text"', "{}", '{"kind": 1}', '{"apiVersion": {}, "kind": "Gadget"}'):
        assert (await http.send("POST", resource.path(namespace), body)).status == 400, body


async def test_names_in_the_body_must_be_those_of_the_path(http: Exchange, path: str, client: Client) -> None:
    await http.send("POST", path, config_map("one"))
    assert (await http.send("PUT", f"{path}/one", config_map("two"))).status == 400
    assert (await http.send("PUT", f"{path}/one", {"data": {}})).status == 400
    elsewhere = config_map("three")
    elsewhere["metadata"]["namespace"] = "elsewhere"
    assert (await http.send("POST", path, elsewhere)).status == 400
    elsewhere["metadata"]["name"] = "one"
    assert (await http.send("PUT", f"{path}/one", elsewhere)).status == 400


async def test_a_name_is_required(http: Exchange, path: str) -> None:
    for meta in ({}, {"name": ""}, {"generateName": ""}):
        assert (await http.send("POST", path, {"metadata": meta})).status == 422, meta


async def test_a_version_cannot_be_given_at_creation(http: Exchange, path: str) -> None:
    asked = config_map("one")
    asked["metadata"]["resourceVersion"] = "5"
    answer = await http.send("POST", path, asked)
    assert answer.body["message"] == "resourceVersion should not be set on objects to be created"


async def test_a_replacement_needs_something_to_replace(http: Exchange, path: str) -> None:
    assert (await http.send("PUT", f"{path}/one", config_map("one"))).status == 404


async def test_a_version_that_is_no_number_is_invalid(http: Exchange, path: str) -> None:
    await http.send("POST", path, config_map("one"))
    asked = config_map("one")
    asked["metadata"]["resourceVersion"] = "latest"
    answer = await http.send("PUT", f"{path}/one", asked)
    assert answer.status >= 400


async def test_version_zero_is_none(http: Exchange, path: str) -> None:
    zero: dict[str, Any] = {"metadata": {"name": "one", "resourceVersion": "0"}}
    assert (await http.send("POST", path, zero)).status == 201
    assert (await http.send("PUT", f"{path}/one", zero)).status == 200


async def test_a_version_at_creation_matters_least(http: Exchange, path: str) -> None:
    versioned = {"metadata": {"name": "One", "resourceVersion": "5"}}
    assert (await http.send("POST", path, versioned)).status == 422


async def test_patches_that_are_no_patches_are_refused(http: Exchange, path: str) -> None:
    await http.send("POST", path, config_map("one"))
    for kind, body in (
        ("json-patch+json", "{}"),
        ("json-patch+json", "[1]"),
        ("json-patch+json", '[{"path": "/a"}]'),
        ("json-patch+json", "not json"),
        ("merge-patch+json", "[]"),
        ("merge-patch+json", "text"),
        ("merge-patch+json", ""),
        ("strategic-merge-patch+json", "[]"),
        ("strategic-merge-patch+json", "1"),
        ("apply-patch+yaml", "[]"),
        ("apply-patch+yaml", "a: b: c"),
        ("apply-patch+yaml", "{}"),
    ):
        headers = {"Content-Type": f"application/{kind}"}
        answer = await http.send("PATCH", f"{path}/one", body, headers=headers, fieldManager="wire")
        assert answer.status in (400, 422, 500), (kind, body)


async def test_an_apply_needs_a_manager_and_names_its_object(http: Exchange, path: str) -> None:
    headers = {"Content-Type": "application/apply-patch+yaml"}
    good = config_map("one")
    assert (await http.send("PATCH", f"{path}/one", good, headers=headers)).status == 422
    for change in ({"apiVersion": None}, {"kind": None}, {"kind": "Secret"}, {"metadata": {"name": "two"}}):
        answer = await http.send("PATCH", f"{path}/one", {**good, **change}, headers=headers, fieldManager="wire")
        assert answer.status in (400, 422), change
    managed = {**good, "metadata": {"name": "one", "managedFields": [{"manager": "x"}]}}
    assert (await http.send("PATCH", f"{path}/one", managed, headers=headers, fieldManager="wire")).status == 400
    merge = {"Content-Type": "application/merge-patch+json"}
    assert (await http.send("PATCH", f"{path}/one", good, headers=merge, force="true")).status == 422


async def test_a_patch_leaves_the_kind_as_it_is(http: Exchange, path: str) -> None:
    await http.send("POST", path, config_map("one"))
    changes: list[Any] = [
        {"kind": "Nonsense"},
        {"kind": None},
        {"kind": 1},
        {"apiVersion": "v2"},
        {"apiVersion": "a/b/c"},
        {"metadata": None},
        {"metadata": 1},
    ]
    headers = {"Content-Type": "application/merge-patch+json"}
    for change in changes:
        answer = await http.send("PATCH", f"{path}/one", change, headers=headers)
        assert answer.status in (200, 400, 422), change
    headers = {"Content-Type": "application/strategic-merge-patch+json"}
    answer = await http.send("PATCH", f"{path}/one", {"kind": "Secret", "apiVersion": "v2"}, headers=headers)
    assert (answer.status, answer.body["kind"]) == (200, "ConfigMap")


async def test_a_patch_leaves_a_custom_kind_as_it_is(http: Exchange, client: Client, namespace: str) -> None:
    resource = await shared(client)
    path = resource.path(namespace)
    await http.send("POST", path, gadget(resource, "one"))
    headers = {"Content-Type": "application/merge-patch+json"}
    changes: list[Any] = [{"kind": "Widget"}, {"apiVersion": "v2"}, {"metadata": None}, {"metadata": 1}]
    for change in changes:
        answer = await http.send("PATCH", f"{path}/one", change, headers=headers)
        assert answer.status in (400, 422), change
