"""One whole machine for the suite, and servers that its volumes are filled from; a test has a namespace of its own."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from eventual import eventually
from guest.servers.nbdkit import Nbdkit
from guest.servers.nginx import Nginx
from guest.servers.server import LoopbackServer
from images.servers.registry import DockerRegistry
from ingot.api.resources import NAMESPACES, SERVICE_ACCOUNTS
from ingot.images.disk import open_disk
from ingot.images.push import PushOptions, push_disk
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.settings import Settings
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from ingot_up import IngotUp, WholeMachine
from volumes.administrator import Administrator
from volumes.shelf import Shelf
from volumes.wares import Wares

S = TypeVar("S", bound=LoopbackServer)
USER, PASSWORD = "reader", "of disks"


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing is kept in the user's cache, nor found there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INGOT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def whole(own_cache: None) -> Iterator[IngotUp]:
    """Ingot with everything in it."""
    # A short path, for it holds sockets; and QEMU runs as another user, who must get to the disks.
    with tempfile.TemporaryDirectory(prefix="ingot-") as place:
        Path(place).chmod(0o755)
        with WholeMachine(Path(place) / "d") as server:
            yield server


@pytest.fixture(scope="session")
def wares(tmp_path_factory: pytest.TempPathFactory) -> Wares:
    return Wares.make(tmp_path_factory.mktemp("wares"))


@pytest.fixture(scope="session")
def web(wares: Wares) -> Iterator[Nginx]:
    """nginx with the wares, and with passwords under /private/."""
    yield from started(Nginx(wares.directory, USER, PASSWORD))


@pytest.fixture(scope="session")
def nbd(wares: Wares) -> Iterator[Nbdkit]:
    yield from started(Nbdkit(wares.directory))


@pytest.fixture(scope="session")
def image(wares: Wares) -> Iterator[str]:
    """The URL of the disk in a real registry."""
    for server in started(DockerRegistry()):
        reference = Reference.parse(f"{server.host}/test/disk:v1")
        push(wares.directory / "disk.raw", reference)
        yield f"docker://{reference}"


def push(path: Path, reference: Reference) -> None:
    """Pushes a disk."""
    disk = open_disk(path)
    try:
        with Registry(Settings()) as registry:
            push_disk(registry, disk, reference, PushOptions())
    finally:
        disk.close()


@pytest.fixture
async def client(whole: IngotUp) -> AsyncIterator[Client]:
    async with Client.connect(load(whole.kubeconfig), on_warning=lambda _: None) as client:
        yield client


@pytest.fixture
async def shelf(client: Client, whole: IngotUp) -> Shelf:
    """The volumes of a new namespace."""
    return await new_shelf(client, whole)


async def new_shelf(client: Client, server: IngotUp) -> Shelf:
    made = await client.create(NAMESPACES, {"metadata": {"generateName": "test-"}})
    name = str(made["metadata"]["name"])
    await eventually(lambda: client.get(SERVICE_ACCOUNTS, "default", name))
    return Shelf(client, name, server)


def started(server: S) -> Iterator[S]:
    if lacking := server.why_not():
        pytest.skip(lacking)
    with server:
        yield server


@pytest.fixture(scope="module")
def registry() -> Iterator[DockerRegistry]:
    server = DockerRegistry()
    if lacking := server.why_not():
        pytest.skip(lacking)
    with server:
        yield server


@pytest.fixture
def administrator(client: Client, whole: IngotUp, tmp_path: Path) -> Administrator:
    return Administrator(client, whole, tmp_path)
