"""Watches on the wire: where they begin, how they end, and in which form they tell."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from ingot.kube.client import Client
from wire.customs import served
from wire.exchange import Exchange
from wire.kinds import CONFIG_MAPS, config_map

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
CASE: Any = {"labelSelector": "of=case"}


@pytest.fixture
async def path(client: Client, namespace: str) -> str:
    """The collection of two labelled ConfigMaps."""
    for name in ("a", "b"):
        await make(client, namespace, name)
    return CONFIG_MAPS.path(namespace)


async def make(client: Client, namespace: str, name: str) -> Any:
    made = config_map(name, {"of": "case"})
    made["metadata"]["namespace"] = namespace
    return await client.create(CONFIG_MAPS, made, field_manager="wire")


async def taken(told: AsyncIterator[Any], count: int) -> list[tuple[str, str]]:
    async with asyncio.timeout(20):
        events = [await anext(told) for _ in range(count)]
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]


async def test_without_a_revision_it_begins_with_what_is_there(
    http: Exchange, path: str, client: Client, namespace: str
) -> None:
    async with http.watch(path, **CASE) as told:
        assert await taken(told, 2) == [("ADDED", "a"), ("ADDED", "b")]
        await make(client, namespace, "c")
        assert await taken(told, 1) == [("ADDED", "c")]


async def test_revision_zero_also_begins_with_what_is_there(http: Exchange, path: str) -> None:
    async with http.watch(path, resourceVersion="0", **CASE) as told:
        assert await taken(told, 2) == [("ADDED", "a"), ("ADDED", "b")]


async def test_from_a_revision_it_tells_only_what_came_after(
    http: Exchange, path: str, client: Client, namespace: str
) -> None:
    made = await client.get(CONFIG_MAPS, "b", namespace)
    await client.patch(CONFIG_MAPS, "a", {"data": {"x": "1"}}, namespace, field_manager="wire")
    await client.delete(CONFIG_MAPS, "b", namespace)
    await make(client, namespace, "b")
    version = made["metadata"]["resourceVersion"]
    async with http.watch(path, record="a watch from the last ADDED", resourceVersion=version, **CASE) as told:
        assert await taken(told, 3) == [("MODIFIED", "a"), ("DELETED", "b"), ("ADDED", "b")]


async def test_a_revision_that_is_too_old_is_gone(http: Exchange, client: Client, namespace: str) -> None:
    # kube-apiserver knows nothing of a kind from before it was defined, Ingot forgets what is many megabytes ago.
    resource = await served(client, namespace)
    large = config_map("large", data="x" * 1_000_000)
    large["metadata"]["namespace"] = namespace
    await client.create(CONFIG_MAPS, large)
    for number in range(34):
        await client.patch(CONFIG_MAPS, "large", {"data": {"number": str(number)}}, namespace)
    async with http.watch(resource.path(namespace), resourceVersion="1") as told, asyncio.timeout(20):
        event = await anext(told)
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")


async def test_initial_events_end_with_a_bookmark(http: Exchange, path: str) -> None:
    query: Any = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    async with http.watch(path, **query, **CASE) as told:
        assert await taken(told, 3) == [("ADDED", "a"), ("ADDED", "b"), ("BOOKMARK", "")]


async def test_initial_events_have_their_rules(http: Exchange, path: str) -> None:
    for query in (
        {"sendInitialEvents": "true"},
        {"sendInitialEvents": "true", "resourceVersionMatch": "Exact"},
        {"resourceVersionMatch": "NotOlderThan"},
    ):
        assert (await http.get(path, watch="true", **query)).status == 422, query
    assert (await http.get(path, sendInitialEvents="true")).status == 422


async def test_a_watch_ends_after_its_time(http: Exchange, path: str) -> None:
    async with http.watch(path, timeoutSeconds="1", **CASE) as told, asyncio.timeout(20):
        events = [event async for event in told]
    assert [event["type"] for event in events] == ["ADDED", "ADDED"]


async def test_one_object_can_be_watched_by_its_name(http: Exchange, path: str, client: Client, namespace: str) -> None:
    async with http.watch(path, fieldSelector="metadata.name=b") as told:
        assert await taken(told, 1) == [("ADDED", "b")]
        await client.patch(CONFIG_MAPS, "a", {"data": {"x": "1"}}, namespace, field_manager="wire")
        await client.patch(CONFIG_MAPS, "b", {"data": {"x": "1"}}, namespace, field_manager="wire")
        assert await taken(told, 1) == [("MODIFIED", "b")]


async def test_the_old_paths_of_watches_still_work(http: Exchange, path: str, namespace: str) -> None:
    async with http.watch(f"/api/v1/watch/namespaces/{namespace}/configmaps/a") as told:
        assert await taken(told, 1) == [("ADDED", "a")]


async def test_a_watch_tells_in_tables(http: Exchange, path: str) -> None:
    async with http.watch(path, headers={"Accept": TABLE}, **CASE) as told, asyncio.timeout(20):
        first, second = await anext(told), await anext(told)
    assert first["object"]["columnDefinitions"]
    assert second["object"]["columnDefinitions"] in ([], None)


async def test_a_watch_tells_metadata_only(http: Exchange, path: str) -> None:
    async with http.watch(path, headers={"Accept": METADATA}, **CASE) as told, asyncio.timeout(20):
        event = await anext(told)
    assert event["object"]["kind"] == "PartialObjectMetadata"


async def test_bookmarks_come_only_when_asked_for(http: Exchange, path: str) -> None:
    query: Any = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    async with http.watch(path, timeoutSeconds="1", **query, **CASE) as told, asyncio.timeout(20):
        kinds = [event["type"] async for event in told]
    assert kinds[:2] == ["ADDED", "ADDED"]
