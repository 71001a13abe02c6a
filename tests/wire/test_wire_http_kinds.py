"""Kinds as they are on the wire: their tables, what they are selected by, and what happens beside storing them."""

import asyncio
import base64

import pytest

from ingot.api.object import Object
from ingot.kube.client import Client
from wire.customs import definition, group_of
from wire.exchange import Exchange
from wire.forgery import claims_of
from wire.kinds import CLAIMS, CRDS, EVENTS, NODES, PODS, SECRETS, SERVICE_ACCOUNTS, SERVICES, pod
from wire.samples import KINDS

TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
NEW_EVENTS = "/apis/events.k8s.io/v1"


def placed(obj: Object, namespace: str, name: str = "one") -> Object:
    return {**obj, "metadata": {**obj.get("metadata", {}), "name": name, "namespace": namespace}}


@pytest.mark.parametrize("kind", KINDS)
async def test_every_kind_has_its_columns(http: Exchange, client: Client, namespace: str, kind: str) -> None:
    resource, least, _ = KINDS[kind]
    name = "one" if resource.namespaced else f"{namespace}-one"
    made = placed(least, namespace, name)
    if not resource.namespaced:
        del made["metadata"]["namespace"]
    if resource == EVENTS:
        made["involvedObject"] = {**made["involvedObject"], "namespace": namespace}
    await client.create(resource, made)
    path = resource.path(namespace if resource.namespaced else "", name)
    answer = await http.get(path, headers=TABLE, includeObject="None")
    assert answer.body["columnDefinitions"][0]["name"] in ("Name", "Last Seen")
    assert len(answer.body["rows"][0]["cells"]) == len(answer.body["columnDefinitions"])


async def test_an_event_is_one_object_in_two_groups(http: Exchange, client: Client, namespace: str) -> None:
    event = {
        "involvedObject": {"kind": "Pod", "name": "one", "namespace": namespace, "apiVersion": "v1"},
        "reason": "Told",
        "message": "something happened",
        "type": "Normal",
        "source": {"component": "wire", "host": "here"},
        "count": 3,
        "firstTimestamp": "2020-01-01T00:00:00Z",
        "lastTimestamp": "2020-01-02T00:00:00Z",
    }
    await client.create(EVENTS, placed(event, namespace))
    answer = await http.get(f"{NEW_EVENTS}/namespaces/{namespace}/events/one")
    assert (answer.body["note"], answer.body["deprecatedCount"]) == ("something happened", 3)
    new = {
        "metadata": {"name": "two"},
        "eventTime": "2020-01-01T00:00:00.000000Z",
        "regarding": {"kind": "Pod", "name": "one", "namespace": namespace},
        "reason": "Told",
        "note": "again",
        "type": "Warning",
        "action": "Telling",
        "reportingController": "wire.test/teller",
        "reportingInstance": "teller-1",
    }
    await http.send("POST", f"{NEW_EVENTS}/namespaces/{namespace}/events", new)
    old = await http.get(EVENTS.path(namespace, "two"))
    assert (old.body["message"], old.body["involvedObject"]["name"]) == ("again", "one")
    assert (
        await http.send("POST", f"{NEW_EVENTS}/namespaces/{namespace}/events", {"metadata": {"name": "x"}})
    ).status == 422


async def test_kinds_are_selected_by_their_own_fields(http: Exchange, client: Client, namespace: str) -> None:
    await client.create(PODS, placed(pod("one", nodeName="node-1", schedulerName="mine"), namespace))
    for selector in (
        "spec.nodeName=node-1",
        "spec.schedulerName=mine",
        "spec.serviceAccountName=default",
        "spec.hostNetwork=false",
        "status.phase!=Pending",
        "status.podIP=",
        "status.nominatedNodeName=",
        "metadata.name=one,metadata.namespace!=default",
        "spec.containers=main",
        "metadata.labels=a",
    ):
        await http.get(PODS.path(namespace), fieldSelector=selector, view=names)
    for path, selector in (
        (SECRETS.path(namespace), "type=Opaque"),
        (EVENTS.path(namespace), "involvedObject.kind=Pod,reason=Told,type=Normal,source=wire"),
        (f"{NEW_EVENTS}/namespaces/{namespace}/events", "regarding.kind=Pod"),
        ("/api/v1/namespaces", f"status.phase=Active,metadata.name={namespace}"),
        ("/api/v1/namespaces", "name=default"),
        ("/api/v1/namespaces", "metadata.namespace=default"),
        (CLAIMS.path(namespace), "name=one"),
        (NODES.path(), "spec.unschedulable=true,metadata.name=none"),
        (NODES.path(), "metadata.namespace="),
        (SERVICES.path(namespace), "spec.clusterIP=None"),
        (SERVICES.path(namespace), "spec.type=ClusterIP"),
        ("/api/v1/persistentvolumes", "spec.volumeMode=Block"),
        ("/apis/storage.k8s.io/v1/storageclasses", "provisioner=none"),
        (CRDS.path(), "spec.group=none"),
    ):
        await http.get(path, fieldSelector=selector, view=names)


def names(body: Object) -> object:
    return [item["metadata"]["name"] for item in body["items"]] if "items" in body else body["message"]


async def test_a_pod_is_bound_to_a_node_once(http: Exchange, client: Client, namespace: str) -> None:
    await client.create(PODS, placed(pod("one"), namespace))
    path = PODS.path(namespace, "one", "binding")
    target = {"apiVersion": "v1", "kind": "Node", "name": "node-1"}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "one"}, "target": target}
    assert (await http.send("POST", path, {**binding, "target": {}})).status >= 400
    assert (await http.send("POST", path, binding)).status == 201
    bound = await http.get(PODS.path(namespace, "one"))
    assert bound.body["spec"]["nodeName"] == "node-1"
    assert (await http.send("POST", path, binding)).status == 409
    missing = {**binding, "metadata": {"name": "two"}}
    assert (await http.send("POST", PODS.path(namespace, "two", "binding"), missing)).status == 404


async def test_an_eviction_is_a_deletion(http: Exchange, client: Client, namespace: str) -> None:
    await client.create(PODS, placed(pod("one"), namespace))
    path = PODS.path(namespace, "one", "eviction")
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "one", "namespace": namespace}}
    assert (await http.send("POST", path, {**eviction, "deleteOptions": {"dryRun": ["All"]}})).status == 201
    assert (await http.send("POST", path, eviction)).status == 201
    assert (await http.get(PODS.path(namespace, "one"))).status == 404
    assert (await http.send("POST", path, eviction)).status == 404


async def test_a_secret_may_hold_a_token_of_an_account(http: Exchange, client: Client, namespace: str) -> None:
    account = await client.get(SERVICE_ACCOUNTS, "default", namespace)
    secret: Object = {
        "metadata": {"annotations": {"kubernetes.io/service-account.name": "default"}},
        "type": "kubernetes.io/service-account-token",
    }
    await client.create(SECRETS, placed(secret, namespace), field_manager="wire")
    found = await filled(client, namespace)
    assert set(found.get("data", {})) == {"token", "ca.crt", "namespace"}
    token = base64.b64decode(found["data"]["token"]).decode()
    assert claims_of(token)["sub"] == f"system:serviceaccount:{namespace}:default"
    assert found["metadata"]["annotations"]["kubernetes.io/service-account.uid"] == account["metadata"]["uid"]
    review = {"spec": {"token": token}}
    judged = await http.send("POST", "/apis/authentication.k8s.io/v1/tokenreviews", review)
    assert judged.body["status"]["authenticated"] is True
    await client.delete(SECRETS, "one", namespace)


async def filled(client: Client, namespace: str) -> Object:
    """The secret as soon as it has its token, or as it is when that takes too long."""
    for _ in range(100):
        found = await client.get(SECRETS, "one", namespace)
        if "token" in found.get("data", {}):
            break
        await asyncio.sleep(0.02)
    return found


async def test_a_definition_may_be_converted_by_a_webhook(http: Exchange, namespace: str) -> None:
    crd = definition(group_of(namespace))
    client = {"url": "https://127.0.0.1:9/convert"}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client}
    crd["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    answer = await http.send("POST", CRDS.path(), crd, view=lambda body: body["kind"])
    assert answer.status == 201


async def test_a_head_request_has_no_body(http: Exchange, namespace: str) -> None:
    for path in ("/version", "/healthz", PODS.path(namespace), f"/api/v1/namespaces/{namespace}"):
        answer = await http.send("HEAD", path)
        assert answer.body == ""
