"""One API server for all of it, of each sort that is asked for with `--servers`; the controllers in the test's own
process, on a clock that the test moves."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import pytest

from control.clock import WorldClock
from control.cron_world import CronWorld, cron_controllers
from control.storage_world import install_snapshots
from control.world import World
from images.servers.registry import DockerRegistry
from ingot.api.resources import NAMESPACES, SERVICE_ACCOUNTS
from ingot.control.all import add_all
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from ingot.kube.manager import Manager
from ingot_up import IngotUp
from kube.cluster import ControlPlane
from kube.webhooks import Webhooks, install


@pytest.fixture(scope="session")
def equipped(
    api_server: IngotUp | ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[IngotUp | ControlPlane]:
    """The API server under test, with Ingot's kinds."""
    if isinstance(api_server, IngotUp):
        yield api_server
        return
    with Webhooks(tmp_path_factory.mktemp("webhooks"), api_server.kubeconfig) as served:
        asyncio.run(_install(api_server, served))
        yield api_server


async def _install(cluster: ControlPlane, served: Webhooks) -> None:
    async with Client.connect(load(cluster.kubeconfig)) as client:
        await install(client, served)


@pytest.fixture
async def client(equipped: IngotUp | ControlPlane) -> AsyncIterator[Client]:
    async with Client.connect(load(equipped.kubeconfig), on_warning=lambda _: None) as client:
        yield client


@pytest.fixture
async def bare(client: Client) -> World:
    """A new namespace and a node, and nobody at work."""
    namespace = f"control-{uuid4().hex[:8]}"
    await client.create(NAMESPACES, {"metadata": {"name": namespace}})
    world = World(client, namespace, WorldClock())
    await world.node(world.far)
    # Without it a cluster takes no pods.
    await world.until(SERVICE_ACCOUNTS, "default", bool)
    return world


@pytest.fixture
async def world(bare: World) -> AsyncIterator[World]:
    """The same, with the controllers at work."""
    manager, stop = Manager(bare.client), asyncio.Event()
    add_all(manager, bare.clock)
    running = asyncio.create_task(manager.run(stop))
    yield bare
    stop.set()
    await running


@pytest.fixture(scope="session")
def docker_registry() -> Iterator[DockerRegistry]:
    """A registry for everybody, without TLS."""
    server = DockerRegistry()
    if lacking := server.why_not():
        pytest.skip(lacking)
    with server:
        yield server


@pytest.fixture
async def golden_bare(bare: World, docker_registry: DockerRegistry) -> CronWorld:
    """A namespace with a repository of its own, and nobody at work."""
    await install_snapshots(bare.client)
    return CronWorld(bare, docker_registry)


@pytest.fixture
async def crons(golden_bare: CronWorld) -> AsyncIterator[CronWorld]:
    """The same, with the controllers of golden images at work."""
    async with cron_controllers(golden_bare.world.client, golden_bare.world.clock):
        yield golden_bare
        await golden_bare.clear()
