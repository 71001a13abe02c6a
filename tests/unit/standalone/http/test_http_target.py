"""Paths: what they name, and the verb that a method makes of them."""

import pytest

from ingot.standalone.http.target import Target, parse, selected_name


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/api/v1/pods", Target("", "v1", "pods")),
        ("/api/v1/namespaces", Target("", "v1", "namespaces")),
        ("/api/v1/namespaces/a", Target("", "v1", "namespaces", "a", "a")),
        ("/api/v1/namespaces/a/status", Target("", "v1", "namespaces", "a", "a", "status")),
        ("/api/v1/namespaces/a/finalize", Target("", "v1", "namespaces", "a", "a", "finalize")),
        ("/api/v1/namespaces/a/pods", Target("", "v1", "pods", "a")),
        ("/api/v1/namespaces/a/pods/b", Target("", "v1", "pods", "a", "b")),
        ("/api/v1/namespaces/a/pods/b/status", Target("", "v1", "pods", "a", "b", "status")),
        ("/apis/kubevirt.io/v1/virtualmachines", Target("kubevirt.io", "v1", "virtualmachines")),
        ("/apis/x.io/v1/namespaces/a/things/b", Target("x.io", "v1", "things", "a", "b")),
        ("/apis/x.io/v1/things/b%2Fc", Target("x.io", "v1", "things", "", "b/c")),
        ("/api/v1/watch/pods", Target("", "v1", "pods", watched=True)),
        ("/api/v1/watch/namespaces/a/pods/b", Target("", "v1", "pods", "a", "b", watched=True)),
        ("/apis/x.io/v1/watch/things", Target("x.io", "v1", "things", watched=True)),
        ("/apis/x.io/v1/watch", Target("x.io", "v1", "watch")),
    ],
)
def test_resource_paths(path: str, target: Target) -> None:
    assert parse(path) == target


@pytest.mark.parametrize(
    "path",
    ["/", "/api", "/api/v1", "/apis", "/apis/x.io", "/apis/x.io/v1", "/healthz", "/openapi/v3", "/api/v1/a/b/c/d/e"],
)
def test_paths_that_name_no_resource(path: str) -> None:
    assert parse(path) is None


@pytest.mark.parametrize(
    ("method", "name", "watch", "verb"),
    [
        ("GET", "", False, "list"),
        ("GET", "", True, "watch"),
        ("GET", "a", True, "get"),
        ("HEAD", "a", False, "head"),
        ("POST", "", False, "create"),
        ("PUT", "a", False, "update"),
        ("PATCH", "a", False, "patch"),
        ("DELETE", "a", False, "delete"),
        ("DELETE", "", False, "deletecollection"),
    ],
)
def test_verbs(method: str, name: str, watch: bool, verb: str) -> None:
    assert Target("", "v1", "pods", "ns", name).verb(method, watch) == verb


def test_the_old_path_of_a_watch_says_its_verb() -> None:
    assert Target("", "v1", "pods", "a", "b", watched=True).verb("GET", False) == "watch"


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ({}, ""),
        ({"fieldSelector": "metadata.name=a"}, "a"),
        ({"fieldSelector": "metadata.name==a,metadata.namespace=b"}, "a"),
        ({"fieldSelector": "metadata.name=b,metadata.name=a"}, "a"),
        ({"fieldSelector": "metadata.name!=a"}, ""),
        ({"fieldSelector": "metadata.name=.."}, ""),
        ({"fieldSelector": "metadata.name=a/b"}, ""),
        ({"fieldSelector": "metadata.name"}, ""),
        ({"fieldSelector": "metadata.name=a", "labelSelector": "!!"}, ""),
        ({"fieldSelector": "metadata.name=a", "timeoutSeconds": "long"}, ""),
    ],
)
def test_the_name_that_a_field_selector_asks_for(query: dict[str, str], name: str) -> None:
    assert selected_name(query) == name
