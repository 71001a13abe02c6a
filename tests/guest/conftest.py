"""The guest image and the servers that the guests' disks come from: each started once, when it is first asked for."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

import pytest
from xdist.remote import Producer

from guest.image.build import GuestImage
from guest.lab import Lab
from guest.servers.ceph import Ceph
from guest.servers.gluster import Gluster
from guest.servers.server import LoopbackServer
from guest.spread import Spread, place
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load

S = TypeVar("S", bound=LoopbackServer)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Spread:
    return Spread(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: place(item.nodeid))


@pytest.fixture(scope="session")
def guest_image() -> Path:
    """The bootable disk of the tests. It belongs to all of them: a guest gets a copy."""
    why_not = GuestImage.why_not()
    if why_not:
        pytest.skip(why_not)
    return GuestImage.build()


@pytest.fixture
def serve() -> Iterator[Callable[[S], S]]:
    """Starts a server for one test. Skips where its program is not installed."""
    with ExitStack() as stack:
        yield lambda server: _started(server, stack)


@pytest.fixture(scope="session")
def ceph() -> Iterator[Ceph]:
    """A one-node Ceph, one for the whole run: a test makes images of its own."""
    with ExitStack() as stack:
        yield _started(Ceph(), stack)


@pytest.fixture(scope="session")
def gluster() -> Iterator[Gluster]:
    """A Gluster volume, one for the whole run: a test makes files of its own."""
    with ExitStack() as stack:
        yield _started(Gluster(), stack)


class Servers:
    """Servers for one test: those that it starts, and the two that all tests share."""

    def __init__(self, stack: ExitStack, request: pytest.FixtureRequest) -> None:
        self._stack, self._request = stack, request

    def start(self, server: S) -> S:
        return _started(server, self._stack)

    @property
    def ceph(self) -> Ceph:
        found: Ceph = self._request.getfixturevalue("ceph")
        return found

    @property
    def gluster(self) -> Gluster:
        found: Gluster = self._request.getfixturevalue("gluster")
        return found


@pytest.fixture
def servers(request: pytest.FixtureRequest) -> Iterator[Servers]:
    """Servers of any kind, started when they are asked for. Skips where a program is not installed."""
    with ExitStack() as stack:
        yield Servers(stack, request)


@pytest.fixture(scope="session")
def lab(guest_image: Path) -> Iterator[Lab]:
    """Ingot with everything in it, one for the whole run: a test makes a namespace of its own."""
    _need_hypervisor()
    with Lab() as machine:
        yield machine


@pytest.fixture(scope="session")
def doomed(guest_image: Path) -> Iterator[Lab]:
    """A lab whose parts are killed and started again, beside the one in which others work in peace."""
    _need_hypervisor()
    with Lab() as machine:
        yield machine


def _need_hypervisor() -> None:
    missing = [program for program in ("libvirtd", "qemu-system-x86_64") if not shutil.which(program)]
    if missing:
        pytest.skip(f"no {', '.join(missing)}: run `make setup`")


@pytest.fixture
async def client(lab: Lab) -> AsyncIterator[Client]:
    """The administrator of the lab."""
    async with Client.connect(load(lab.kubeconfig), on_warning=lambda _: None) as client:
        yield client


def _started(server: S, stack: ExitStack) -> S:
    why_not = server.why_not()
    if why_not:
        pytest.skip(why_not)
    stack.enter_context(server)
    return server
