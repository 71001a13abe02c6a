"""Discovery in both forms, compared with what kube-apiserver 1.32.13 answers."""

import json
from typing import Any

import pytest

from ingot.standalone.builtin.kinds import DEFINITIONS
from ingot.standalone.discovery import Discovery
from ingot.standalone.discovery.versions import preferred_first
from ingot.standalone.resources.definition import Definition, Scale, Version

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
WIDGET = Definition(
    "y.example.com",
    "Widget",
    "widgets",
    "widget",
    True,
    {
        "v1beta1": Version("v1beta1", {}, scale=Scale(".spec.replicas", ".status.replicas")),
        "v1": Version("v1", {}),
        "v1alpha1": Version("v1alpha1", {}, served=False),
    },
    "v1beta1",
    short_names=("wd",),
    categories=("all",),
    custom=True,
    subresources=frozenset({"status", "scale"}),
    verbs=VERBS,
)


@pytest.fixture(scope="module")
def discovery() -> Discovery:
    return Discovery([*DEFINITIONS, WIDGET])


def body(discovery: Discovery, path: str, accept: str = "application/json") -> Any:
    found = discovery.answer(path, accept)
    assert found is not None
    return json.loads(found.content)


def test_groups_come_in_kubernetes_order(discovery: Discovery) -> None:
    assert [group["name"] for group in body(discovery, "/apis")["groups"]] == [
        "events.k8s.io",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "rbac.authorization.k8s.io",
        "storage.k8s.io",
        "apiextensions.k8s.io",
        "scheduling.k8s.io",
        "coordination.k8s.io",
        "y.example.com",
    ]


def test_a_group_prefers_its_most_stable_version(discovery: Discovery) -> None:
    assert body(discovery, "/apis/y.example.com") == {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": "y.example.com",
        "versions": [
            {"groupVersion": "y.example.com/v1", "version": "v1"},
            {"groupVersion": "y.example.com/v1beta1", "version": "v1beta1"},
        ],
        "preferredVersion": {"groupVersion": "y.example.com/v1", "version": "v1"},
    }


def test_resources_of_a_custom_group(discovery: Discovery) -> None:
    assert body(discovery, "/apis/y.example.com/v1beta1") == {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": "y.example.com/v1beta1",
        "resources": [
            {
                "name": "widgets",
                "singularName": "widget",
                "namespaced": True,
                "kind": "Widget",
                "verbs": list(VERBS),
                "shortNames": ["wd"],
                "categories": ["all"],
                "storageVersionHash": "MLKG2OZUxeM=",
            },
            {
                "name": "widgets/status",
                "singularName": "",
                "namespaced": True,
                "kind": "Widget",
                "verbs": ["get", "patch", "update"],
            },
            {
                "name": "widgets/scale",
                "singularName": "",
                "namespaced": True,
                "group": "autoscaling",
                "version": "v1",
                "kind": "Scale",
                "verbs": ["get", "patch", "update"],
            },
        ],
    }


def test_core_resources(discovery: Discovery) -> None:
    listed = body(discovery, "/api/v1")
    assert "apiVersion" not in listed
    named = {entry["name"]: entry for entry in listed["resources"]}
    assert list(named) == sorted(named)
    assert named["configmaps"]["storageVersionHash"] == "qFsyl6wFWjQ="
    assert named["serviceaccounts/token"] | {"verbs": []} == {
        "name": "serviceaccounts/token",
        "singularName": "",
        "namespaced": True,
        "group": "authentication.k8s.io",
        "version": "v1",
        "kind": "TokenRequest",
        "verbs": [],
    }
    assert named["namespaces/finalize"]["verbs"] == ["update"]
    assert "deletecollection" not in named["namespaces"]["verbs"]


def test_both_groups_of_events_name_one_store(discovery: Discovery) -> None:
    (event,) = body(discovery, "/apis/events.k8s.io/v1")["resources"]
    assert event["storageVersionHash"] == "r2yiGXH7wu8="


def test_reviews_have_no_store(discovery: Discovery) -> None:
    for entry in body(discovery, "/apis/authorization.k8s.io/v1")["resources"]:
        assert "storageVersionHash" not in entry
        assert entry["verbs"] == ["create"]


def test_the_aggregated_form(discovery: Discovery) -> None:
    answer = discovery.answer("/apis", AGGREGATED)
    assert answer is not None
    assert answer.media == "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    assert answer.etag.startswith('"')
    found = json.loads(answer.content)
    assert (found["kind"], found["apiVersion"]) == ("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2")
    group = found["items"][-1]
    assert group["metadata"] == {"name": "y.example.com", "creationTimestamp": None}
    assert [(version["version"], version["freshness"]) for version in group["versions"]] == [
        ("v1", "Current"),
        ("v1beta1", "Current"),
    ]
    (resource,) = group["versions"][1]["resources"]
    assert resource["responseKind"] == {"group": "y.example.com", "version": "v1beta1", "kind": "Widget"}
    assert [each["subresource"] for each in resource["subresources"]] == ["status", "scale"]


def test_the_core_group_is_its_own_list(discovery: Discovery) -> None:
    (core,) = body(discovery, "/api", AGGREGATED)["items"]
    assert core["metadata"] == {"creationTimestamp": None}
    pods = next(entry for entry in core["versions"][0]["resources"] if entry["resource"] == "pods")
    assert pods["responseKind"] == {"group": "", "version": "", "kind": "Pod"}
    assert pods["scope"] == "Namespaced"


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("", "APIGroupList"),
        ("*/*", "APIGroupList"),
        ("application/json", "APIGroupList"),
        ("application/json," + AGGREGATED, "APIGroupList"),
        (AGGREGATED, "APIGroupDiscoveryList"),
        (AGGREGATED.replace("v=v2", "v=v2beta1"), "APIGroupDiscoveryList"),
        (AGGREGATED.replace("v=v2", "v=v9"), "APIGroupList"),
        ("application/vnd.kubernetes.protobuf," + AGGREGATED, "APIGroupDiscoveryList"),
    ],
)
def test_the_form_is_negotiated(discovery: Discovery, accept: str, kind: str) -> None:
    assert body(discovery, "/apis", accept)["kind"] == kind


@pytest.mark.parametrize("path", ["/apis/nope", "/apis/y.example.com/v1alpha1", "/api/v2", "/x", "/"])
def test_what_is_not_served_is_not_found(discovery: Discovery, path: str) -> None:
    assert discovery.answer(path, "application/json") is None


def test_the_version_is_one_that_clients_can_compare(discovery: Discovery) -> None:
    version = body(discovery, "/version")
    assert (version["major"], version["minor"]) == ("1", "32")
    assert version["gitVersion"].startswith("v1.32.")


def test_versions_are_ordered_as_kubernetes_orders_them() -> None:
    names = ["foo", "v1", "v1alpha1", "v10", "v1beta2", "v2", "bar", "v1beta1", "v11alpha2"]
    assert preferred_first(names) == ["v10", "v2", "v1", "v1beta2", "v1beta1", "v11alpha2", "v1alpha1", "bar", "foo"]
