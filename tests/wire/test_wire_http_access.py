"""Who may do what, and how it is told to those who may not."""

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Any

import pytest

from ingot.api.object import Object
from ingot.kube.client import Client
from ingot_up import IngotUp
from kube.cluster import ControlPlane
from wire.exchange import Exchange
from wire.forgery import claims_of, encode, signed_anew
from wire.kinds import CONFIG_MAPS, PODS, ROLE_BINDINGS, ROLES, SECRETS, SERVICE_ACCOUNTS, config_map, pod

AUTHENTICATION = "/apis/authentication.k8s.io/v1"
AUTHORIZATION = "/apis/authorization.k8s.io/v1"


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def token_of(headers: Mapping[str, str]) -> str:
    return headers["Authorization"].removeprefix("Bearer ")


def acting_as(user: str, group: str = "") -> dict[str, str]:
    return {"Impersonate-User": user, **({"Impersonate-Group": group} if group else {})}


@pytest.fixture
async def robot(client: Client, namespace: str) -> Mapping[str, str]:
    """The headers of a service account that may get and list ConfigMaps in its namespace, and create roles."""
    await client.create(SERVICE_ACCOUNTS, {"metadata": {"name": "robot", "namespace": namespace}})
    await grant(
        client,
        namespace,
        [
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]},
            {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["known"], "verbs": ["get"]},
            {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"], "verbs": ["create"]},
        ],
    )
    account = {"metadata": {"namespace": namespace}, "spec": {}}
    made = await client.create(SERVICE_ACCOUNTS, account, name="robot", subresource="token")
    return bearer(made["status"]["token"])


async def grant(client: Client, namespace: str, rules: list[Object]) -> None:
    await client.create(ROLES, {"metadata": {"name": "robot", "namespace": namespace}, "rules": rules})
    binding = {
        "metadata": {"name": "robot", "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "robot"},
        "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": namespace}],
    }
    await client.create(ROLE_BINDINGS, binding)
    # kube-apiserver hears of roles some moments after they are stored.
    attributes = {"namespace": namespace, "verb": "list", "resource": "configmaps"}
    review = {"spec": {"user": f"system:serviceaccount:{namespace}:robot", "resourceAttributes": attributes}}
    async with asyncio.timeout(20):
        while True:
            judged = await client.call("POST", f"{AUTHORIZATION}/subjectaccessreviews", review)
            if judged["status"]["allowed"]:
                return
            await asyncio.sleep(0.01)


async def test_a_stranger_is_told_who_they_are(anonymous: Exchange, namespace: str) -> None:
    for path in (
        "/api/v1/namespaces",
        CONFIG_MAPS.path(namespace, "one"),
        "/apis/coordination.k8s.io/v1/leases",
        "/openapi/v3",
        "/metrics",
    ):
        assert (await anonymous.get(path)).status == 403, path


async def test_a_stranger_may_ask_for_health_and_version(anonymous: Exchange) -> None:
    for path in ("/healthz", "/livez", "/readyz", "/version"):
        assert (await anonymous.get(path, view=lambda body: None)).status == 200, path


async def test_a_token_that_is_not_ours_is_unauthorized(anonymous: Exchange, robot: Mapping[str, str]) -> None:
    given = token_of(robot)
    header, payload, signature = given.split(".")
    forged = encode(json.dumps({**claims_of(given), "sub": "system:admin"}).encode())
    unsigned = encode(b'{"alg":"none"}')
    for token in (
        "garbage",
        "a.b.c",
        f"{header}.{forged}.{signature}",
        f"{unsigned}.{payload}.",
        f"{header}.{payload}.{signature[:-4]}AAAA",
        f"{header}.{payload}",
    ):
        answer = await anonymous.get("/api/v1/namespaces", headers=bearer(token))
        assert (answer.status, answer.body["reason"]) == (401, "Unauthorized"), token


async def test_a_token_is_good_for_its_time_and_place_only(
    anonymous: Exchange, robot: Mapping[str, str], api_server: IngotUp | ControlPlane, namespace: str
) -> None:
    path, given, now = CONFIG_MAPS.path(namespace, "missing"), token_of(robot), int(time.time())
    private = claims_of(given)["kubernetes.io"]
    stranger = {**private, "serviceaccount": {"name": "robot", "uid": "11111111-2222-3333-4444-555555555555"}}
    bad: dict[str, Any] = {
        "expired": {"exp": now - 60},
        "not yet valid": {"nbf": now + 3600},
        "of another issuer": {"iss": "https://elsewhere.test"},
        "for another audience": {"aud": ["elsewhere"]},
        "of another account of the name": {"kubernetes.io": stranger},
        "of no account": {"kubernetes.io": {"namespace": namespace}},
    }
    for fault, changes in bad.items():
        answer = await anonymous.get(path, headers=bearer(signed_anew(given, api_server, **changes)))
        assert answer.status == 401, fault
    good = await anonymous.get(path, headers=bearer(signed_anew(given, api_server, exp=now + 60)))
    assert good.status == 404


async def test_a_header_that_is_no_bearer_token_is_no_name(anonymous: Exchange) -> None:
    for header in ("Basic YWRtaW46YWRtaW4=", "Bearer", "Bearer ", "bearer garbage", "Nonsense"):
        answer = await anonymous.get("/api/v1/namespaces", headers={"Authorization": header})
        assert answer.status in (401, 403), header


async def test_a_service_account_may_do_what_its_role_says(
    anonymous: Exchange, robot: Mapping[str, str], namespace: str
) -> None:
    path = CONFIG_MAPS.path(namespace)
    assert (await anonymous.get(path, headers=robot, limit="1", view=lambda body: body["kind"])).status == 200
    assert (await anonymous.get(f"{path}/missing", headers=robot)).status == 404
    assert (await anonymous.get(SECRETS.path(namespace, "known"), headers=robot)).status == 404


async def test_one_name_may_be_listed_and_watched_by_those_who_may_see_only_it(
    http: Exchange, client: Client, namespace: str
) -> None:
    verbs = ["get", "list", "watch", "deletecollection"]
    rule = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["mine"], "verbs": verbs}
    everywhere = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}
    await client.create(SERVICE_ACCOUNTS, {"metadata": {"name": "robot", "namespace": namespace}})
    await grant(client, namespace, [everywhere, rule])
    for name in ("mine", "other"):
        await client.create(SECRETS, {"metadata": {"name": name, "namespace": namespace}})
    path, robot = SECRETS.path(namespace), acting_as(f"system:serviceaccount:{namespace}:robot")
    for selector in (
        "metadata.name=mine",
        "metadata.name==mine,type=Opaque",
        f"metadata.namespace={namespace},metadata.name=mine",
    ):
        listed = await http.get(path, headers=robot, fieldSelector=selector)
        assert [item["metadata"]["name"] for item in listed.body["items"]] == ["mine"], selector
    # The first of several names counts, in the order of the alphabet.
    assert (await http.get(path, headers=robot, fieldSelector="metadata.name=other,metadata.name=mine")).status == 200
    async with http.watch(path, headers=robot, fieldSelector="metadata.name=mine") as events:
        assert (await anext(events))["object"]["metadata"]["name"] == "mine"
    for options in (
        {},
        {"fieldSelector": "metadata.name=other"},
        {"fieldSelector": "metadata.name!=mine"},
        {"fieldSelector": "type=Opaque"},
        {"fieldSelector": "metadata.name=yours,metadata.name=mine-not"},
        {"fieldSelector": "metadata.name=a/b"},
        {"fieldSelector": "metadata.name"},
        {"fieldSelector": "metadata.name=mine", "labelSelector": "!!"},
        {"fieldSelector": "metadata.name=mine", "limit": "many"},
    ):
        assert (await http.get(path, headers=robot, **options)).status == 403, options
        assert (await http.get(path, headers=robot, watch="1", **options)).status == 403, options
    # Deleting is by the collection, whatever is selected.
    deleted = await http.send("DELETE", path, headers=robot, fieldSelector="metadata.name=mine")
    assert deleted.status == 403


async def test_a_refusal_says_what_was_asked_for(anonymous: Exchange, robot: Mapping[str, str], namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace)
    for method, target, body in (
        ("POST", path, config_map("one")),
        ("DELETE", f"{path}/one", None),
        ("DELETE", path, None),
        ("PUT", f"{path}/one", config_map("one")),
        ("GET", SECRETS.path(namespace, "unknown"), None),
        ("GET", SECRETS.path(namespace), None),
        ("GET", PODS.path(namespace, "one", "log"), None),
        ("GET", CONFIG_MAPS.path("default"), None),
        ("GET", "/api/v1/nodes", None),
        ("GET", "/api/v1/configmaps", None),
        ("GET", "/metrics", None),
        ("GET", "/apis/nothing.test/v1/things", None),
        ("POST", PODS.path(namespace, "one", "binding"), {}),
    ):
        answer = await anonymous.send(method, target, body, headers=robot)
        assert (answer.status, answer.body["reason"]) == (403, "Forbidden"), target
    patch = {**robot, "Content-Type": "application/merge-patch+json"}
    assert (await anonymous.send("PATCH", f"{path}/one", {}, headers=patch)).status == 403
    assert (await anonymous.get(path, headers=robot, watch="true")).status == 403


async def test_nobody_grants_more_than_they_have(anonymous: Exchange, robot: Mapping[str, str], namespace: str) -> None:
    path = ROLES.path(namespace)
    more = {
        "metadata": {"name": "more"},
        "rules": [
            {"apiGroups": [""], "resources": ["configmaps", "pods"], "verbs": ["get", "delete"]},
            {"apiGroups": ["apps"], "resources": ["*"], "verbs": ["*"]},
        ],
    }
    assert (await anonymous.send("POST", path, more, headers=robot)).status == 403
    same = {
        "metadata": {"name": "same"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}],
    }
    assert (await anonymous.send("POST", path, same, headers=robot)).status == 201
    binding = {
        "metadata": {"name": "more"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "User", "name": "robot", "apiGroup": "rbac.authorization.k8s.io"}],
    }
    assert (await anonymous.send("POST", ROLE_BINDINGS.path(namespace), binding, headers=robot)).status == 403


async def test_a_token_dies_with_its_account(
    anonymous: Exchange, robot: Mapping[str, str], client: Client, namespace: str
) -> None:
    await client.delete(SERVICE_ACCOUNTS, "robot", namespace)
    answer = await anonymous.get(CONFIG_MAPS.path(namespace), headers=robot)
    assert answer.status == 401


async def test_a_token_is_asked_for_by_request(http: Exchange, namespace: str) -> None:
    path = SERVICE_ACCOUNTS.path(namespace, "default", "token")
    answer = await http.send("POST", path, {"spec": {"audiences": ["somewhere"], "expirationSeconds": 3600}})
    assert (answer.status, answer.body["kind"]) == (201, "TokenRequest")
    claims = claims_of(answer.body["status"]["token"])
    assert (claims["aud"], claims["sub"]) == (["somewhere"], f"system:serviceaccount:{namespace}:default")
    assert set(claims) == {"aud", "exp", "iat", "iss", "jti", "kubernetes.io", "nbf", "sub"}
    assert claims["exp"] - claims["iat"] == 3600


async def test_a_token_request_has_its_limits(http: Exchange, namespace: str) -> None:
    path = SERVICE_ACCOUNTS.path(namespace, "default", "token")
    for spec in (
        {"expirationSeconds": 10},
        {"expirationSeconds": 2**33},
        {"boundObjectRef": {"kind": "Pod", "name": "no-such-pod", "apiVersion": "v1"}},
        {"boundObjectRef": {"kind": "ConfigMap", "name": "one", "apiVersion": "v1"}},
    ):
        assert (await http.send("POST", path, {"spec": spec})).status >= 400, spec
    missing = SERVICE_ACCOUNTS.path(namespace, "nobody", "token")
    assert (await http.send("POST", missing, {"spec": {}})).status == 404


async def test_a_token_may_be_bound_to_a_pod(http: Exchange, client: Client, namespace: str) -> None:
    made = pod("one")
    made["metadata"]["namespace"] = namespace
    bound = await client.create(PODS, made)
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "one", "uid": bound["metadata"]["uid"]}
    path = SERVICE_ACCOUNTS.path(namespace, "default", "token")
    answer = await http.send("POST", path, {"spec": {"boundObjectRef": reference}})
    review = {"spec": {"token": answer.body["status"]["token"]}}
    judged = await http.send("POST", f"{AUTHENTICATION}/tokenreviews", review)
    assert judged.body["status"]["authenticated"] is True
    await client.delete(PODS, "one", namespace, grace_period=0)


async def test_tokens_are_reviewed(http: Exchange, robot: Mapping[str, str]) -> None:
    path = f"{AUTHENTICATION}/tokenreviews"
    token = token_of(robot)
    good = await http.send("POST", path, {"spec": {"token": token}})
    assert good.body["status"]["user"]["username"].endswith(":robot")
    other = await http.send("POST", path, {"spec": {"token": token, "audiences": ["elsewhere"]}})
    assert not other.body["status"].get("authenticated")
    bad = await http.send("POST", path, {"spec": {"token": "garbage"}})
    assert not bad.body["status"].get("authenticated")
    assert (await http.send("POST", path, {"spec": {}})).status in (201, 400, 422)


async def test_a_user_may_ask_who_they_are(http: Exchange, anonymous: Exchange, robot: Mapping[str, str]) -> None:
    path = f"{AUTHENTICATION}/selfsubjectreviews"
    answer = await anonymous.send("POST", path, {}, headers=robot)
    assert answer.body["status"]["userInfo"]["username"].endswith(":robot")
    jane = await http.send("POST", path, {}, headers=acting_as("jane", "developers"))
    assert jane.body["status"]["userInfo"] == {"username": "jane", "groups": ["developers", "system:authenticated"]}


async def test_a_user_may_ask_what_they_may_do(anonymous: Exchange, robot: Mapping[str, str], namespace: str) -> None:
    path = f"{AUTHORIZATION}/selfsubjectaccessreviews"
    asked: list[tuple[Object, bool]] = [
        ({"resourceAttributes": {"namespace": namespace, "verb": "get", "resource": "configmaps"}}, True),
        ({"resourceAttributes": {"namespace": namespace, "verb": "delete", "resource": "configmaps"}}, False),
        ({"resourceAttributes": {"verb": "get", "resource": "configmaps"}}, False),
        ({"nonResourceAttributes": {"path": "/apis", "verb": "get"}}, True),
        ({"nonResourceAttributes": {"path": "/metrics", "verb": "get"}}, False),
    ]
    for spec, allowed in asked:
        answer = await anonymous.send("POST", path, {"spec": spec}, headers=robot)
        assert (answer.status, answer.body["status"]["allowed"]) == (201, allowed), spec
    assert (await anonymous.send("POST", path, {"spec": {}}, headers=robot)).status == 422


async def test_rules_of_a_user_are_listed(anonymous: Exchange, robot: Mapping[str, str], namespace: str) -> None:
    def of_the_role(body: Object) -> list[Object]:
        rules = body["status"]["resourceRules"]
        return sorted((rule for rule in rules if "selfsubjectreviews" not in rule["resources"]), key=str)

    path = f"{AUTHORIZATION}/selfsubjectrulesreviews"
    spec = {"spec": {"namespace": namespace}}
    answer = await anonymous.send("POST", path, spec, headers=robot, view=of_the_role)
    assert answer.body["status"]["incomplete"] is False
    assert {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps"]} in of_the_role(answer.body)


async def test_others_are_reviewed_by_those_who_may(http: Exchange, robot: object, namespace: str) -> None:
    user = f"system:serviceaccount:{namespace}:robot"
    attributes = {"namespace": namespace, "verb": "list", "resource": "configmaps"}
    spec = {"user": user, "resourceAttributes": attributes}
    answer = await http.send("POST", f"{AUTHORIZATION}/subjectaccessreviews", {"spec": spec})
    assert answer.body["status"]["allowed"] is True
    local = f"{AUTHORIZATION}/namespaces/{namespace}/localsubjectaccessreviews"
    answer = await http.send("POST", local, {"metadata": {"namespace": namespace}, "spec": spec})
    assert answer.body["status"]["allowed"] is True
    elsewhere = {"user": user, "resourceAttributes": {**attributes, "namespace": "default"}}
    answer = await http.send("POST", local, {"metadata": {"namespace": namespace}, "spec": elsewhere})
    assert answer.status == 422
    answer = await http.send("POST", f"{AUTHORIZATION}/subjectaccessreviews", {"spec": {"user": user}})
    assert answer.status == 422


async def test_an_administrator_may_act_as_others(http: Exchange, namespace: str) -> None:
    answer = await http.get("/api/v1/nodes", headers=acting_as("jane", "developers"))
    assert 'User "jane" cannot list resource "nodes"' in answer.body["message"]
    answer = await http.get("/api/v1/nodes", headers={"Impersonate-Group": "developers"})
    assert answer.status == 500


async def test_others_may_not_act_as_others(anonymous: Exchange, robot: Mapping[str, str]) -> None:
    for headers in (acting_as("jane"), acting_as("system:serviceaccount:default:default"), acting_as("a", "b")):
        answer = await anonymous.get("/api/v1/nodes", headers={**robot, **headers})
        assert answer.status == 403, headers


async def test_a_role_binding_keeps_its_role(http: Exchange, robot: object, namespace: str) -> None:
    path = ROLE_BINDINGS.path(namespace, "robot")
    found = (await http.get(path)).body
    found["roleRef"]["name"] = "other"
    answer = await http.send("PUT", path, found)
    assert (answer.status, answer.body["details"]["causes"][0]["field"]) == (422, "roleRef")
