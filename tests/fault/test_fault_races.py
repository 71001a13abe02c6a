"""Many clients at once: nothing that was acknowledged is lost, nobody waits for ever, and a watch tells it all."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ingot.api.resource import Resource
from ingot.api.status import ApiError
from ingot.kube.client import Client, Patch
from ingot.kube.kubeconfig import load
from ingot_up import IngotUp

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
PATIENCE = 30.0


def config_map(name: str, label: str, value: str = "") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default", "labels": {"of": label}}, "data": {"value": value}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with IngotUp(tmp_path_factory.mktemp("races") / "data") as up:
        yield up


@pytest.fixture
async def client(server: IngotUp) -> AsyncIterator[Client]:
    async with Client.connect(load(Path(server.kubeconfig))) as made:
        yield made


async def attempt(work: Any) -> Any:
    """The answer, or None for an object that another client was quicker with."""
    try:
        return await asyncio.wait_for(work, PATIENCE)
    except ApiError as error:
        if error.code in (404, 409):
            return None
        raise


async def delete_all(client: Client, label: str, after: float = 0.0) -> None:
    await asyncio.sleep(after)
    await asyncio.wait_for(client.delete_collection(CONFIG_MAPS, "default", label_selector=f"of={label}"), PATIENCE)


async def hold(client: Client, name: str) -> Any:
    finalizer = {"metadata": {"finalizers": ["example.io/hold"]}}
    return await attempt(client.patch(CONFIG_MAPS, name, finalizer, "default", kind=Patch.MERGE))


async def test_a_finalizer_that_was_acknowledged_holds_against_a_collection_that_is_deleted(client: Client) -> None:
    """The deletion follows the patch by a head start that grows when the patch came too late and shrinks when it did
    not: so the two meet."""
    won, head_start = 0, 0.001
    for number in range(40):
        name = f"held-{number}"
        await client.create(CONFIG_MAPS, config_map(name, "held"))
        patched, _ = await asyncio.gather(hold(client, name), delete_all(client, "held", after=head_start))
        if patched and "deletionTimestamp" not in patched["metadata"]:
            won += 1
            kept = await client.get(CONFIG_MAPS, name, "default")
            assert kept["metadata"]["finalizers"] == ["example.io/hold"]
            head_start /= 2
        else:
            head_start = min(2 * head_start + 0.0001, 1.0)
        release = client.patch(CONFIG_MAPS, name, {"metadata": {"finalizers": None}}, "default", kind=Patch.MERGE)
        await attempt(release)
    assert won > 0, "the race was never run"


async def test_collections_that_are_deleted_at_once_are_all_answered(client: Client) -> None:
    for _ in range(20):
        await asyncio.gather(*(client.create(CONFIG_MAPS, config_map(f"gone-{number}", "gone")) for number in range(8)))
        await asyncio.gather(*(delete_all(client, "gone") for _ in range(4)))
        assert (await client.list(CONFIG_MAPS, "default", label_selector="of=gone"))["items"] == []


async def churn(client: Client, writer: int, until: asyncio.Event) -> None:
    """Creates, changes and deletes a few objects over and over."""
    chance = random.Random(writer)  # noqa: S311
    for step in range(100_000):
        if until.is_set():
            return
        name = f"churn-{chance.randrange(12)}"
        match chance.randrange(3):
            case 0:
                await attempt(client.create(CONFIG_MAPS, config_map(name, "churn", f"{writer}.{step}")))
            case 1:
                change = {"data": {"value": f"{writer}.{step}"}}
                await attempt(client.patch(CONFIG_MAPS, name, change, "default", kind=Patch.MERGE))
            case _:
                await attempt(client.delete(CONFIG_MAPS, name, "default"))


async def follow(client: Client, until: asyncio.Event) -> dict[str, str]:
    """What a list and the watch that goes on from it say is there, by name and version."""
    listed = await client.list(CONFIG_MAPS, "default", label_selector="of=churn")
    known = {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in listed["items"]}
    seen = int(listed["metadata"]["resourceVersion"])
    watch = client.watch(
        CONFIG_MAPS, "default", label_selector="of=churn", resource_version=listed["metadata"]["resourceVersion"]
    )
    async for event in watch:
        kind, obj = event.type, event.object
        if obj["metadata"]["name"] == "the-end":
            return known
        name, version = obj["metadata"]["name"], obj["metadata"]["resourceVersion"]
        assert int(version) > seen, "an event came twice, or out of order"
        seen = int(version)
        assert (name in known) == (kind != "ADDED"), f"{kind} {name}, which was {'there' if name in known else 'not'}"
        if kind == "DELETED":
            del known[name]
        else:
            known[name] = version
    raise AssertionError("the watch ended early")


async def test_a_watch_that_goes_on_from_a_list_misses_nothing_and_doubles_nothing(client: Client) -> None:
    until = asyncio.Event()
    writers = [asyncio.create_task(churn(client, number, until)) for number in range(6)]
    followers = []
    for _ in range(12):
        followers.append(asyncio.create_task(follow(client, until)))
        await asyncio.sleep(0.1)  # they start at different moments: that is what is tried
    until.set()
    await asyncio.gather(*writers)
    last = await client.list(CONFIG_MAPS, "default", label_selector="of=churn")
    wanted = {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in last["items"]}
    await client.create(CONFIG_MAPS, config_map("the-end", "churn"))
    for told in await asyncio.wait_for(asyncio.gather(*followers), PATIENCE):
        assert told == wanted
