"""The guest image and the servers that the guests' disks come from: each started once, when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

import pytest

from guest.image.build import GuestImage
from guest.servers.ceph import Ceph
from guest.servers.gluster import Gluster
from guest.servers.server import LoopbackServer

S = TypeVar("S", bound=LoopbackServer)


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


def _started(server: S, stack: ExitStack) -> S:
    why_not = server.why_not()
    if why_not:
        pytest.skip(why_not)
    stack.enter_context(server)
    return server
