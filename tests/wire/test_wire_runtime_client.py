"""The client's verbs against a live API server."""

import asyncio
from contextlib import aclosing
from pathlib import Path
from uuid import uuid4

import pytest

from ingot.api.object import Object
from ingot.api.status import ApiError
from ingot.kube.client import Client, Patch
from ingot.kube.discovery import Discovery, UnknownResource
from ingot.kube.kubeconfig import Config, Material, load
from ingot.kube.transport import ConnectionFailed
from wire.kinds import CONFIG_MAPS, NAMESPACES, PODS


def config_map(namespace: str, name: str, labels: dict[str, str] | None = None, **data: str) -> Object:
    return {"metadata": {"name": name, "namespace": namespace, "labels": labels or {}}, "data": data}


async def test_an_object_is_created_read_replaced_and_deleted(client: Client, namespace: str) -> None:
    made = await client.create(CONFIG_MAPS, config_map(namespace, "one", colour="red"), field_manager="tests")
    assert made["kind"] == "ConfigMap"
    assert made["metadata"]["managedFields"][0]["manager"] == "tests"
    made["data"]["colour"] = "green"
    await client.replace(CONFIG_MAPS, made)
    found = await client.get(CONFIG_MAPS, "one", namespace)
    assert found["data"] == {"colour": "green"}
    with pytest.raises(ApiError) as stale:
        await client.replace(CONFIG_MAPS, made)
    assert (stale.value.code, stale.value.reason) == (409, "Conflict")
    await client.delete(CONFIG_MAPS, "one", namespace, uid=found["metadata"]["uid"])
    with pytest.raises(ApiError) as gone:
        await client.get(CONFIG_MAPS, "one", namespace)
    assert gone.value.reason == "NotFound"
    assert gone.value.details == {"name": "one", "kind": "configmaps"}


async def test_a_dry_run_leaves_nothing_behind(client: Client, namespace: str) -> None:
    made = await client.create(CONFIG_MAPS, config_map(namespace, "ghost"), dry_run=True)
    assert made["metadata"]["uid"]
    with pytest.raises(ApiError, match="not found"):
        await client.get(CONFIG_MAPS, "ghost", namespace)
    await client.create(CONFIG_MAPS, config_map(namespace, "real"))
    await client.delete(CONFIG_MAPS, "real", namespace, dry_run=True)
    assert await client.get(CONFIG_MAPS, "real", namespace)


async def test_every_kind_of_patch(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace, "p", a="1"))
    merged = await client.patch(CONFIG_MAPS, "p", {"data": {"b": "2"}}, namespace)
    assert merged["data"] == {"a": "1", "b": "2"}
    operations = [{"op": "remove", "path": "/data/a"}, {"op": "add", "path": "/data/c", "value": "3"}]
    patched = await client.patch(CONFIG_MAPS, "p", operations, namespace, kind=Patch.JSON)
    assert patched["data"] == {"b": "2", "c": "3"}
    strategic = {"metadata": {"finalizers": ["ingot.test/a"]}}
    await client.patch(CONFIG_MAPS, "p", strategic, namespace, kind=Patch.STRATEGIC)
    strategic = {"metadata": {"finalizers": ["ingot.test/b"]}}
    patched = await client.patch(CONFIG_MAPS, "p", strategic, namespace, kind=Patch.STRATEGIC)
    assert set(patched["metadata"]["finalizers"]) == {"ingot.test/a", "ingot.test/b"}
    await client.patch(CONFIG_MAPS, "p", {"metadata": {"finalizers": None}}, namespace)


async def test_apply_owns_its_fields(client: Client, namespace: str) -> None:
    wanted: Object = {"apiVersion": "v1", "kind": "ConfigMap", **config_map(namespace, "applied", colour="red")}
    await client.apply(CONFIG_MAPS, wanted, "painter")
    wanted["data"]["colour"] = "blue"
    with pytest.raises(ApiError) as conflict:
        await client.apply(CONFIG_MAPS, wanted, "rival")
    assert conflict.value.code == 409
    assert conflict.value.details is not None
    assert conflict.value.details["causes"][0]["field"] == ".data.colour"
    forced = await client.apply(CONFIG_MAPS, wanted, "rival", force=True)
    assert forced["data"] == {"colour": "blue"}


async def test_pages_are_one_snapshot(client: Client, namespace: str) -> None:
    for number in range(7):
        await client.create(CONFIG_MAPS, config_map(namespace, f"m{number}", {"odd": str(number % 2)}))
    names: list[str] = []
    versions = set()
    async for page in client.pages(CONFIG_MAPS, namespace, limit=3, label_selector="odd"):
        await client.create(CONFIG_MAPS, config_map(namespace, f"late{len(names)}", {"odd": "1"}))
        names += [item["metadata"]["name"] for item in page["items"]]
        versions.add(page["metadata"]["resourceVersion"])
        assert all((item["apiVersion"], item["kind"]) == ("v1", "ConfigMap") for item in page["items"])
    assert names == [f"m{number}" for number in range(7)]
    assert len(versions) == 1


async def test_selectors_and_delete_collection(client: Client, namespace: str) -> None:
    for number in range(4):
        await client.create(CONFIG_MAPS, config_map(namespace, f"s{number}", {"odd": str(number % 2)}))
    await client.delete_collection(CONFIG_MAPS, namespace, label_selector="odd=1")
    left = await client.list(CONFIG_MAPS, namespace, label_selector="odd in (0, 1)")
    assert [item["metadata"]["name"] for item in left["items"]] == ["s0", "s2"]
    one = await client.list(CONFIG_MAPS, namespace, field_selector="metadata.name=s2")
    assert [item["metadata"]["name"] for item in one["items"]] == ["s2"]


async def test_preconditions_protect_a_successor(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace, "held"))
    with pytest.raises(ApiError) as conflict:
        await client.delete(CONFIG_MAPS, "held", namespace, uid=str(uuid4()))
    assert conflict.value.code == 409


async def test_a_watch_tells_changes_from_a_version_on(client: Client, namespace: str) -> None:
    listed = await client.list(CONFIG_MAPS, namespace)
    await client.create(CONFIG_MAPS, config_map(namespace, "seen", a="1"))
    await client.patch(CONFIG_MAPS, "seen", {"data": {"a": "2"}}, namespace)
    await client.delete(CONFIG_MAPS, "seen", namespace)
    told = []
    stream = client.watch(
        CONFIG_MAPS,
        namespace,
        resource_version=listed["metadata"]["resourceVersion"],
        field_selector="metadata.name=seen",
    )
    async with aclosing(stream), asyncio.timeout(20):
        async for event in stream:
            told.append((event.type, event.object["data"]["a"]))
            if event.type == "DELETED":
                break
    assert told == [("ADDED", "1"), ("MODIFIED", "2"), ("DELETED", "2")]


async def test_a_watch_ends_when_its_time_is_over(client: Client, namespace: str) -> None:
    async with asyncio.timeout(20):
        events = [event.type async for event in client.watch(PODS, namespace, seconds=1)]
    assert set(events) <= {"BOOKMARK"}


async def test_the_status_subresource_is_apart(client: Client, namespace: str) -> None:
    pod: Object = {
        "metadata": {"name": "p", "namespace": namespace},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    made = await client.create(PODS, pod)
    made["status"] = {"message": "hello"}
    assert "message" not in (await client.replace(PODS, made))["status"]
    patched = await client.patch(PODS, "p", {"status": {"message": "hello"}}, namespace, subresource="status")
    assert patched["status"]["message"] == "hello"
    assert (await client.get(PODS, "p", namespace, subresource="status"))["status"]["message"] == "hello"
    await client.delete(PODS, "p", namespace, grace_period=0)


async def test_discovery_knows_resources_by_every_name(client: Client) -> None:
    discovery = Discovery(client)
    for name in ("configmaps", "configmap", "ConfigMap", "cm", "configmaps.v1."):
        assert (await discovery.find(name)).resource == CONFIG_MAPS, name
    leases = (await discovery.find("leases.coordination.k8s.io")).resource
    assert leases == (await discovery.find("leases.v1.coordination.k8s.io")).resource
    assert "status" in (await discovery.find("po")).subresources
    assert await discovery.of({"apiVersion": "v1", "kind": "Namespace"}) == NAMESPACES
    with pytest.raises(UnknownResource, match='no resource type "unicorns"'):
        await discovery.find("unicorns")


async def test_who_is_not_known_is_refused(client: Client, kubeconfig: Path) -> None:
    config = client.transport.config
    forged = Config(server=config.server, ca=config.ca, token=Material(b"forged"))
    async with Client.connect(forged) as stranger:
        with pytest.raises(ApiError) as refused:
            await stranger.list(PODS)
    assert (refused.value.code, refused.value.reason) == (401, "Unauthorized")


async def test_a_server_with_another_ca_is_not_trusted(client: Client) -> None:
    async with Client.connect(Config(server=client.transport.config.server)) as wary:
        with pytest.raises(ConnectionFailed) as failed:
            await wary.list(PODS)
    assert (failed.value.why, failed.value.sent) == ("tls", False)


async def test_warnings_are_passed_on(kubeconfig: Path, namespace: str) -> None:
    warnings: list[str] = []
    async with Client.connect(load(kubeconfig), on_warning=warnings.append) as client:
        body = config_map(namespace, "odd") | {"surprise": 1}
        path = CONFIG_MAPS.path(namespace)
        await client.call("POST", path, body, {"fieldValidation": "Warn"})
    assert warnings == ['unknown field "surprise"']
