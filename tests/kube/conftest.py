"""A real cluster that has Ingot on it, beside Ingot's own server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest

from eventual import eventually
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from ingot_up import IngotUp
from kube.cluster import ControlPlane
from kube.pair import Pair
from kube.webhooks import Webhooks, install
from wire.kinds import NAMESPACES, SERVICE_ACCOUNTS


@pytest.fixture(scope="session")
def webhooks(kube_apiserver: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webhooks]:
    """Ingot's kinds on the cluster, and the webhooks that it asks about them."""
    with Webhooks(tmp_path_factory.mktemp("webhooks"), kube_apiserver.kubeconfig) as served:
        asyncio.run(_install(kube_apiserver.kubeconfig, served))
        yield served


async def _install(kubeconfig: Path, served: Webhooks) -> None:
    async with Client.connect(load(kubeconfig)) as client:
        await install(client, served)


@pytest.fixture
async def both(kube_apiserver: ControlPlane, webhooks: Webhooks, ingot_server: IngotUp) -> AsyncIterator[Pair]:
    """A new namespace on both servers."""
    name = f"pair-{uuid4().hex[:8]}"
    async with (
        Client.connect(load(ingot_server.kubeconfig), on_warning=lambda _: None) as ours,
        Client.connect(load(kube_apiserver.kubeconfig), on_warning=lambda _: None) as theirs,
    ):
        for client in (ours, theirs):
            await client.create(NAMESPACES, {"metadata": {"name": name}})
            await eventually(partial(client.get, SERVICE_ACCOUNTS, "default", name))
        yield Pair(ours, theirs, name)
