"""An API server for each module, for these parts act on all that it holds."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from eventual import eventually
from ingot.api.resources import NAMESPACES, NODES, PODS, SERVICE_ACCOUNTS, STORAGE_CLASSES, VOLUME_CLAIMS
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from ingot_up import IngotUp
from machine.machine_support import a_node, running
from machine.volume_support import clear, everything, nothing_left


@pytest.fixture(scope="module")
def machine_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IngotUp]:
    with IngotUp(tmp_path_factory.mktemp("machine") / "d") as server:
        yield server


@pytest.fixture
async def client(machine_server: IngotUp) -> AsyncIterator[Client]:
    async with Client.connect(load(machine_server.kubeconfig), on_warning=lambda _: None) as client:
        yield client


@pytest.fixture
async def namespace(client: Client) -> str:
    """A namespace that is ready for pods."""
    made = await client.create(NAMESPACES, {"metadata": {"generateName": "test-"}})
    name = str(made["metadata"]["name"])
    await eventually(lambda: client.get(SERVICE_ACCOUNTS, "default", name))
    return name


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "volumes"


@pytest.fixture
async def node(client: Client) -> AsyncIterator[str]:
    await client.create(NODES, a_node("here"))
    yield "here"
    await client.delete(NODES, "here")


@pytest.fixture
async def machine(client: Client, node: str, namespace: str, directory: Path) -> AsyncIterator[None]:
    """All that makes volumes; what a test leaves is deleted while it still runs."""
    async with running(client, everything(directory)):
        await eventually(lambda: client.get(STORAGE_CLASSES, "ingot-local"))
        yield
        await clear(client, namespace, PODS, VOLUME_CLAIMS)
        await eventually(lambda: nothing_left(client, directory))
