"""The example of docs/controllers.md, run against a live API server."""

import asyncio
import runpy
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from eventual import eventually
from ingot.api.object import Object
from ingot.kube.client import Client
from ingot.kube.election import LEASES, Election
from ingot.kube.events import EVENTS
from ingot.kube.manager import Manager
from ingot.kube.objects import controller_of
from wire.kinds import CONFIG_MAPS

EXAMPLES = Path(__file__).parents[2] / "examples" / "controllers"


@pytest.fixture
async def greeter(client: Client, namespace: str) -> AsyncIterator[Manager]:
    manager = Manager(client, election=Election(client, "greeter", namespace))
    runpy.run_path(str(EXAMPLES / "greeter.py"))["Greeter"](manager, namespace)
    stop = asyncio.Event()
    running = asyncio.create_task(manager.run(stop))
    yield manager
    stop.set()
    await running
    lease = await client.get(LEASES, "greeter", namespace)
    assert not lease["spec"].get("holderIdentity")


def asking(namespace: str, **data: str) -> Object:
    """The manifest beside the example, with this data."""
    manifest: Object = yaml.safe_load((EXAMPLES / "world.yaml").read_text())
    return manifest | {"metadata": manifest["metadata"] | {"namespace": namespace}, "data": data}


async def test_a_greeting_is_made_kept_and_changed(client: Client, namespace: str, greeter: Manager) -> None:
    async def greeting(text: str) -> Object | None:
        found = await client.get(CONFIG_MAPS, "world-greeting", namespace)
        return found if found.get("data") == {"greeting": text} else None

    owner = await client.create(CONFIG_MAPS, asking(namespace, name="World"))
    made = await eventually(lambda: greeting("Hello, World!"))
    assert made is not None
    reference = controller_of(made)
    assert reference is not None
    assert reference["uid"] == owner["metadata"]["uid"]

    await client.patch(CONFIG_MAPS, "world-greeting", {"data": {"greeting": "Go away!"}}, namespace)
    await eventually(lambda: greeting("Hello, World!"))

    await client.delete(CONFIG_MAPS, "world-greeting", namespace)
    again = await eventually(lambda: greeting("Hello, World!"))
    assert again is not None
    assert again["metadata"]["uid"] != made["metadata"]["uid"]

    await client.patch(CONFIG_MAPS, "world", {"data": {"name": "Moon"}}, namespace)
    await eventually(lambda: greeting("Hello, Moon!"))


async def test_a_greeting_goes_with_who_asked_for_it(client: Client, namespace: str, greeter: Manager) -> None:
    async def is_gone() -> bool:
        listed = await client.list(CONFIG_MAPS, namespace, field_selector="metadata.name=world-greeting")
        return not listed["items"]

    await client.create(CONFIG_MAPS, asking(namespace, name="World"))
    await eventually(lambda: client.get(CONFIG_MAPS, "world-greeting", namespace))
    await client.delete(CONFIG_MAPS, "world", namespace)
    await eventually(is_gone)


async def test_who_has_no_name_is_told_so(client: Client, namespace: str, greeter: Manager) -> None:
    async def warning() -> Object | None:
        found = await client.list(EVENTS, namespace, field_selector="involvedObject.name=world,type=Warning")
        return found["items"][0] if found["items"] else None

    await client.create(CONFIG_MAPS, asking(namespace))
    event = await eventually(warning)
    assert event is not None
    assert (event["reason"], event["count"]) == ("NoName", 1)
    assert event["source"]["component"] == "greeter"
    assert event["metadata"]["name"].startswith("world.")
    await client.patch(CONFIG_MAPS, "world", {"data": {"name": "you"}}, namespace)
    await eventually(lambda: client.get(CONFIG_MAPS, "world-greeting", namespace))


async def test_who_does_not_ask_is_not_greeted(client: Client, namespace: str, greeter: Manager) -> None:
    plain = asking(namespace, name="World")
    del plain["metadata"]["labels"]
    await client.create(CONFIG_MAPS, plain | {"metadata": plain["metadata"] | {"name": "plain"}})
    await client.create(CONFIG_MAPS, asking(namespace, name="World"))
    await eventually(lambda: client.get(CONFIG_MAPS, "world-greeting", namespace))
    listed = await client.list(CONFIG_MAPS, namespace)
    assert "plain-greeting" not in {item["metadata"]["name"] for item in listed["items"]}
