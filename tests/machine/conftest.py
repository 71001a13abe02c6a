"""An API server for each test, for these parts act on all that it holds."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from ingot.api.resources import NAMESPACES
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from ingot_up import IngotUp


@pytest.fixture(scope="module")
def machine_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IngotUp]:
    with IngotUp(tmp_path_factory.mktemp("machine") / "d") as server:
        yield server


@pytest.fixture
async def client(machine_server: IngotUp) -> AsyncIterator[Client]:
    async with Client.connect(load(machine_server.kubeconfig), on_warning=lambda _: None) as client:
        yield client


@pytest.fixture
async def namespace(client: Client, request: pytest.FixtureRequest) -> str:
    made = await client.create(NAMESPACES, {"metadata": {"generateName": "test-"}})
    return str(made["metadata"]["name"])


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "volumes"
