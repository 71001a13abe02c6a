"""One API server and one set of controllers for the whole suite; a kubelet and an agent that do as they are told."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from control.world import World
from ingot.api.resources import NAMESPACES
from ingot.control.all import add_all
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from ingot.kube.manager import Manager
from ingot_up import IngotUp


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IngotUp]:
    with IngotUp(tmp_path_factory.mktemp("control")) as server:
        yield server


@pytest.fixture
async def client(server: IngotUp) -> AsyncIterator[Client]:
    async with Client.connect(load(Path(server.kubeconfig)), on_warning=lambda _: None) as client:
        yield client


@pytest.fixture
async def world(client: Client) -> AsyncIterator[World]:
    """A new namespace, with the controllers at work."""
    namespace = f"control-{uuid4().hex[:8]}"
    await client.create(NAMESPACES, {"metadata": {"name": namespace}})
    manager = Manager(client)
    add_all(manager)
    stop = asyncio.Event()
    running = asyncio.create_task(manager.run(stop))
    yield World(client, namespace)
    stop.set()
    await running
