"""What a server says of itself: versions, groups, resources, schemas, health."""

from collections.abc import AsyncIterator
from typing import Any

from ingot.api.resources import SNAPSHOTS
from ingot.kube.client import Client
from ingot_up import IngotUp
from kube.cluster import ControlPlane
from wire.customs import served, version
from wire.differences import ABSENT
from wire.exchange import Exchange
from wire.transcript import Transcript

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
# What both servers have; kube-apiserver has more, which docs/wire.md lists.
GROUPS = (
    "apiextensions.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "coordination.k8s.io",
    "events.k8s.io",
    "rbac.authorization.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
)
CORE = (
    "bindings",
    "configmaps",
    "endpoints",
    "events",
    "namespaces",
    "namespaces/finalize",
    "namespaces/status",
    "nodes",
    "nodes/status",
    "persistentvolumeclaims",
    "persistentvolumeclaims/status",
    "persistentvolumes",
    "persistentvolumes/status",
    "pods",
    "pods/binding",
    "pods/eviction",
    "pods/status",
    "secrets",
    "serviceaccounts",
    "serviceaccounts/token",
    "services",
    "services/status",
)


def without_hash(resource: dict[str, Any]) -> dict[str, Any]:
    """A resource without the hash of its place in the store, which is the store's own."""
    return {key: value for key, value in resource.items() if key != "storageVersionHash"}


def of_core(body: dict[str, Any]) -> Any:
    return {**body, "resources": [without_hash(each) for each in body["resources"] if each["name"] in CORE]}


def resources(body: dict[str, Any]) -> Any:
    return {
        **body,
        "resources": [
            without_hash(each) for each in body["resources"] if f"{body['groupVersion']} {each['name']}" not in ABSENT
        ],
    }


async def test_the_version_of_the_release_is_told(http: Exchange) -> None:
    keys = await http.get("/version", view=lambda body: sorted(body))
    assert (keys.body["major"], keys.body["minor"]) == ("1", "32")
    assert keys.body["gitVersion"].startswith("v1.32.13")


async def test_health_is_one_word(http: Exchange) -> None:
    for path in ("/healthz", "/livez", "/readyz", "/healthz/ping"):
        answer = await http.get(path)
        assert (answer.status, answer.body) == (200, "ok"), path


async def test_health_can_be_had_in_detail(http: Exchange) -> None:
    answer = await http.get("/readyz", verbose="", view=lambda body: body.splitlines()[-1])
    assert "[+]ping ok" in answer.body.splitlines()
    assert answer.body.endswith("readyz check passed\n")


async def test_the_core_has_one_version(http: Exchange) -> None:
    answer = await http.get("/api", view=lambda body: {**body, "serverAddressByClientCIDRs": "…"})
    assert answer.body["versions"] == ["v1"]


async def test_groups_are_listed_with_their_versions(http: Exchange) -> None:
    def shown(body: Any) -> Any:
        return {**body, "groups": sorted((each for each in body["groups"] if each["name"] in GROUPS), key=str)}

    answer = await http.get("/apis", view=shown)
    assert answer.body["kind"] == "APIGroupList"
    assert [group["name"] for group in shown(answer.body)["groups"]] == list(GROUPS)


async def test_a_group_can_be_had_alone(http: Exchange) -> None:
    answer = await http.get("/apis/coordination.k8s.io")
    assert answer.body["preferredVersion"]["groupVersion"] == "coordination.k8s.io/v1"


async def test_resources_of_the_core_are_listed(http: Exchange) -> None:
    answer = await http.get("/api/v1", view=of_core)
    assert {each["name"] for each in of_core(answer.body)["resources"]} == set(CORE)


async def test_resources_of_a_group_are_listed(http: Exchange) -> None:
    for group in GROUPS:
        answer = await http.get(f"/apis/{group}/v1", view=resources)
        assert answer.body["groupVersion"] == f"{group}/v1"


async def test_discovery_comes_in_one_document(http: Exchange) -> None:
    def shown(body: Any) -> Any:
        return {**body, "items": [{"metadata": each["metadata"]} for each in body["items"] if not each["metadata"]]}

    core = await http.get("/api", headers={"Accept": AGGREGATED}, view=shown)
    assert core.headers["Content-Type"] == AGGREGATED
    found = {each["resource"] for each in core.body["items"][0]["versions"][0]["resources"]}
    assert {name for name in CORE if "/" not in name} <= found
    groups = await http.get("/apis", headers={"Accept": AGGREGATED}, view=lambda body: body["kind"])
    assert set(GROUPS) <= {each["metadata"]["name"] for each in groups.body["items"]}


async def test_one_document_says_the_same_of_each_resource(http: Exchange) -> None:
    def leases(body: Any) -> Any:
        return next(each for each in body["items"] if each["metadata"]["name"] == "coordination.k8s.io")["versions"]

    def pods(body: Any) -> Any:
        found = body["items"][0]["versions"][0]["resources"]
        return [each for each in found if each["resource"] in ("configmaps", "persistentvolumeclaims")]

    await http.get("/apis", headers={"Accept": AGGREGATED}, view=leases)
    await http.get("/api", headers={"Accept": AGGREGATED}, view=pods)


async def test_a_custom_kind_is_discovered(http: Exchange, client: Client, namespace: str) -> None:
    resource = await served(client, namespace, version("v1"), version("v1beta1", storage=False))
    group = await http.get(f"/apis/{resource.group}")
    assert [each["version"] for each in group.body["versions"]] == ["v1", "v1beta1"]
    listed = await http.get(f"/apis/{resource.group}/v1", view=resources)
    assert [each["name"] for each in listed.body["resources"]] == ["gadgets", "gadgets/status", "gadgets/scale"]


async def test_schemas_are_indexed_by_group_and_version(http: Exchange) -> None:
    index = await http.get("/openapi/v3", view=lambda body: sorted(body))
    paths = index.body["paths"]
    assert {"api/v1", *(f"apis/{group}/v1" for group in GROUPS)} <= set(paths)
    address = paths["api/v1"]["serverRelativeURL"]
    assert address.startswith("/openapi/v3/api/v1?hash=")


def undescribed(schema: Any) -> Any:
    """A schema without its prose, which is Kubernetes' own."""
    if isinstance(schema, dict):
        return {key: undescribed(value) for key, value in schema.items() if key != "description"}
    return [undescribed(item) for item in schema] if isinstance(schema, list) else schema


async def test_a_schema_document_describes_a_kind(http: Exchange) -> None:
    def config_map(body: Any) -> Any:
        return undescribed(body["components"]["schemas"]["io.k8s.api.core.v1.ConfigMap"])

    answer = await http.get("/openapi/v3/api/v1", view=config_map)
    assert answer.body["openapi"].startswith("3.")
    assert answer.body["paths"]["/api/v1/namespaces/{namespace}/configmaps/{name}"]["get"]


async def test_what_is_not_served_is_not_found(http: Exchange) -> None:
    for path in (
        "/nothing",
        "/apis/nothing.test",
        "/apis/nothing.test/v1",
        "/apis/coordination.k8s.io/v7",
        "/apis/coordination.k8s.io/v7/leases",
        "/api/v1/nothings",
        "/api/v1/namespaces/default/nothings/one",
        "/api/v1/namespaces/default/configmaps/one/nothing",
        "/api/v2",
    ):
        assert (await http.get(path)).status == 404, path


async def test_a_method_that_is_not_allowed_is_refused(http: Exchange) -> None:
    for method, path in (
        ("PUT", "/api/v1/namespaces/default/configmaps"),
        ("PATCH", "/api/v1/namespaces/default/configmaps"),
        ("POST", "/api/v1/namespaces/default/configmaps/one"),
        ("POST", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/namespaces/default/pods/one/status"),
        ("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
        ("DELETE", "/api/v1/namespaces"),
    ):
        assert (await http.send(method, path)).status == 405, (method, path)


async def test_a_method_that_nobody_knows_is_refused(http: Exchange) -> None:
    assert (await http.send("BREW", "/api/v1/namespaces/default/configmaps")).status == 405


async def test_kinds_that_are_not_served_are_listed(
    client: Client, transcript: Transcript, api_server: IngotUp | ControlPlane
) -> None:
    served_here = {name async for name in resources_of_kubernetes(client)}
    absent = {name for name in served_here if listed_as_absent(name)}
    transcript.add("the kinds of Kubernetes but those that are listed as absent", sorted(served_here - absent))
    if isinstance(api_server, IngotUp):
        assert not absent, "served after all: take them off the list"
    else:
        unknown = {entry for entry in ABSENT if not any(entry == listed_as_absent(name) for name in absent)}
        assert not unknown, "no cluster has them either"


async def resources_of_kubernetes(client: Client) -> AsyncIterator[str]:
    """Every resource of Kubernetes' own, as `coordination.k8s.io/v1 leases`."""
    groups = (await client.call("GET", "/apis"))["groups"]
    paths = ["/api/v1", *(f"/apis/{each['groupVersion']}" for group in groups for each in group["versions"])]
    for path in paths:
        version = path.removeprefix("/apis/").removeprefix("/api/")
        group = version.partition("/")[0]
        # Snapshots are not Kubernetes' own: storage brings them, and on one machine Ingot does.
        if "." in version and (not group.endswith(".k8s.io") or group == SNAPSHOTS.group):
            continue
        for resource in (await client.call("GET", path))["resources"]:
            yield f"{version} {resource['name']}"


def listed_as_absent(name: str) -> str:
    """The entry of the list that names the resource, by itself, as a subresource or with its version; or nothing."""
    version, _, resource = name.partition(" ")
    entries = (version, f"{version} {resource}", f"{version} {resource.partition('/')[0]}")
    return next((entry for entry in entries if entry in ABSENT), "")


async def test_the_issuer_of_tokens_is_published(http: Exchange) -> None:
    answer = await http.get("/.well-known/openid-configuration", view=sorted)
    assert answer.status == 200
    # The rest of a key is another for another algorithm.
    common = {"use", "kty", "kid", "alg"}
    accept = {"Accept": "application/jwk-set+json"}
    keys = await http.get("/openid/v1/jwks", headers=accept, view=lambda body: sorted(common & set(body["keys"][0])))
    assert keys.status == 200


async def test_metrics_are_told(http: Exchange) -> None:
    answer = await http.get("/metrics", view=lambda text: text.partition(" ")[0])
    assert answer.body.startswith("# HELP ")
