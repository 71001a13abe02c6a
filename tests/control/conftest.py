"""One API server for all of it; the controllers in the test's own process, on a clock that the test moves."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import pytest

from control.world import World
from ingot.api.resources import NAMESPACES
from ingot.control.all import add_all
from ingot.kube.client import Client
from ingot.kube.clock import ManualClock
from ingot.kube.kubeconfig import load
from ingot.kube.manager import Manager
from ingot_up import IngotUp


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IngotUp]:
    with IngotUp(tmp_path_factory.mktemp("control")) as server:
        yield server


@pytest.fixture
async def client(server: IngotUp) -> AsyncIterator[Client]:
    async with Client.connect(load(server.kubeconfig), on_warning=lambda _: None) as client:
        yield client


@pytest.fixture
async def world(client: Client) -> AsyncIterator[World]:
    """A new namespace and a node, with the controllers at work."""
    namespace = f"control-{uuid4().hex[:8]}"
    await client.create(NAMESPACES, {"metadata": {"name": namespace}})
    manager, clock, stop = Manager(client), ManualClock(), asyncio.Event()
    add_all(manager, clock)
    running = asyncio.create_task(manager.run(stop))
    world = World(client, namespace, clock)
    await world.node(world.far)
    yield world
    stop.set()
    await running
