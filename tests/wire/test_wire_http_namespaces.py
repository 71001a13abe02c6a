"""Namespaces: what they are born with, and how they go with all they hold."""

import asyncio

from ingot.kube.client import Client
from wire.exchange import Exchange
from wire.kinds import CONFIG_MAPS, NAMESPACES, SERVICE_ACCOUNTS, config_map


async def test_a_namespace_is_active_and_labelled_with_its_name(http: Exchange, namespace: str) -> None:
    answer = await http.send("POST", "/api/v1/namespaces", {"metadata": {"name": f"{namespace}-new"}})
    assert answer.body["spec"] == {"finalizers": ["kubernetes"]}
    assert answer.body["status"] == {"phase": "Active"}
    assert answer.body["metadata"]["labels"] == {"kubernetes.io/metadata.name": f"{namespace}-new"}


async def test_a_namespace_is_born_with_an_account_and_the_authority(http: Exchange, namespace: str) -> None:
    answer = await http.get(SERVICE_ACCOUNTS.path(namespace), view=names)
    assert names(answer.body) == ["default"]
    answer = await http.get(CONFIG_MAPS.path(namespace), view=names)
    assert names(answer.body) == ["kube-root-ca.crt"]
    assert answer.body["items"][0]["data"]["ca.crt"].startswith("-----BEGIN CERTIFICATE-----")


def names(body: dict[str, list[dict[str, dict[str, str]]]]) -> list[str]:
    return [item["metadata"]["name"] for item in body["items"]]


async def test_the_label_of_the_name_comes_back(http: Exchange, namespace: str) -> None:
    headers = {"Content-Type": "application/merge-patch+json"}
    path = NAMESPACES.path(name=namespace)
    answer = await http.send("PATCH", path, {"metadata": {"labels": None}}, headers=headers)
    assert answer.body["metadata"]["labels"] == {"kubernetes.io/metadata.name": namespace}


async def test_nothing_is_created_where_no_namespace_is(http: Exchange) -> None:
    answer = await http.send("POST", CONFIG_MAPS.path("no-such-place"), config_map("one"))
    assert (answer.status, answer.body["message"]) == (404, 'namespaces "no-such-place" not found')


async def test_a_namespace_has_a_label_as_its_name(http: Exchange) -> None:
    for name in ("with.dot", "Upper", "a" * 64):
        answer = await http.send("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        assert answer.status == 422, name


async def test_the_first_namespaces_stay(http: Exchange) -> None:
    for name in ("default", "kube-system", "kube-public"):
        answer = await http.send("DELETE", NAMESPACES.path(name=name))
        assert (answer.status, answer.body["reason"]) == (403, "Forbidden"), name


async def test_a_namespace_goes_with_all_it_holds(http: Exchange, client: Client, namespace: str) -> None:
    held = config_map("held")
    held["metadata"] |= {"namespace": namespace, "finalizers": ["wire.test/a"]}
    await client.create(CONFIG_MAPS, held)
    path = NAMESPACES.path(name=namespace)
    answer = await http.send("DELETE", path)
    assert answer.body["status"]["phase"] == "Terminating"
    refused = await http.send("POST", CONFIG_MAPS.path(namespace), config_map("late"))
    assert (refused.status, refused.body["details"]["causes"][0]["reason"]) == (403, "NamespaceTerminating")
    again = await http.send("DELETE", path, view=lambda body: body["status"]["phase"])
    assert again.status == 200
    await holds(client, namespace, "Some content in the namespace has finalizers remaining: wire.test/a in 1 resource")
    await http.get(path)
    await client.patch(CONFIG_MAPS, "held", {"metadata": {"finalizers": None}}, namespace)
    await gone(client, namespace)
    assert (await http.get(path)).status == 404
    assert (await http.get(CONFIG_MAPS.path(namespace))).body["items"] == []


async def holds(client: Client, namespace: str, message: str) -> None:
    """Returns as soon as the namespace says what holds it back."""
    async with asyncio.timeout(30):
        while True:
            found = await client.get(NAMESPACES, namespace)
            if message in str(found["status"].get("conditions")):
                return
            await asyncio.sleep(0.05)


async def gone(client: Client, namespace: str) -> None:
    async with asyncio.timeout(30):
        while True:
            found = await client.list(NAMESPACES, field_selector=f"metadata.name={namespace}")
            if not found["items"]:
                return
            await asyncio.sleep(0.05)
