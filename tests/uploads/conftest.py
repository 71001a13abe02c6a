"""A whole machine for each module, and namespaces in it; or the pod of an upload alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from eventual import eventually
from ingot.api.resources import NAMESPACES, SERVICE_ACCOUNTS
from ingot.images.pipeline.options import ImportOptions
from ingot.images.upload import importing
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from ingot_up import WholeMachine
from uploads.lab import Lab
from uploads.pod import SIZE, Pod


@pytest.fixture(scope="module")
def upload_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WholeMachine]:
    with WholeMachine(tmp_path_factory.mktemp("uploads") / "d", ["--node-name", "lab"]) as server:
        yield server


@pytest.fixture
async def client(upload_machine: WholeMachine) -> AsyncIterator[Client]:
    async with Client.connect(load(upload_machine.kubeconfig), on_warning=lambda _: None) as client:
        yield client


@pytest.fixture
async def namespace(client: Client) -> str:
    made = await client.create(NAMESPACES, {"metadata": {"generateName": "test-"}})
    name = str(made["metadata"]["name"])
    await eventually(lambda: client.get(SERVICE_ACCOUNTS, "default", name))
    return name


@pytest.fixture
async def lab(upload_machine: WholeMachine, client: Client, namespace: str) -> AsyncIterator[Lab]:
    """Its pods end with the test: they would outlive the machine."""
    made = Lab(upload_machine, client, namespace)
    await eventually(made.gives_tokens)
    yield made
    await made.clear()


@pytest.fixture
async def pod(tmp_path: Path) -> AsyncIterator[Pod]:
    options = ImportOptions(size=SIZE, limit=SIZE, replace=True, only_file=True)
    made = Pod(importing(tmp_path / "disk.img", options, lambda _done, _total: None), tmp_path)
    async with made.open():
        yield made
