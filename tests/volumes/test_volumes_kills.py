"""Anything may be killed while a volume is filled: the work goes on where it was, and the disk is right."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator

import msgspec
import pytest

from guest.servers.nbdkit import Nbdkit
from guest.servers.nginx import Nginx
from images.servers.registry import DockerRegistry
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from ingot_up import IngotUp, WholeMachine
from kube.server import INGOT
from volumes.conftest import new_shelf, started
from volumes.shelf import Shelf, pid_of, volume, workers
from volumes.taps import Tap, from_claim, from_registry, from_web
from volumes.wares import SLOW_SIZE, Wares


@pytest.fixture(scope="module")
def frail(tmp_path_factory: pytest.TempPathFactory, own_cache: None) -> Iterator[IngotUp]:
    """A machine whose parts are killed, beside the one in which others work in peace."""
    with WholeMachine(tmp_path_factory.mktemp("frail") / "d") as server:
        yield server


@pytest.fixture
async def shelf(frail: IngotUp) -> AsyncIterator[Shelf]:
    async with Client.connect(load(frail.kubeconfig), on_warning=lambda _: None) as client:
        yield await new_shelf(client, frail)


@pytest.fixture(scope="module")
def registry() -> Iterator[DockerRegistry]:
    yield from started(DockerRegistry())


@pytest.fixture
async def tap(request: pytest.FixtureRequest, shelf: Shelf, web: Nginx, wares: Wares) -> AsyncIterator[Tap]:
    if request.param == "clone":
        nbd: Nbdkit = request.getfixturevalue("nbd")
        async with from_claim(shelf, f"{web.http}/slow.raw", nbd.port) as tapped:
            yield tapped
    elif request.param == "registry":
        server: DockerRegistry = request.getfixturevalue("registry")
        with from_registry(server.port, wares.directory / "slow.raw") as tapped:
            yield tapped
    else:
        with from_web(web.http_port) as tapped:
            yield tapped


def kill_worker(server: IngotUp) -> None:
    for pid in workers(server):
        os.kill(pid, signal.SIGKILL)


def kill_machine(server: IngotUp) -> None:
    os.kill(pid_of(server, "machine"), signal.SIGKILL)


def kill_server(server: IngotUp) -> None:
    """The API server, which takes its children with it, and is started again. The worker works on meanwhile."""
    before = workers(server)
    _kill(server)
    assert before == workers(server)
    server.__enter__()


def kill_server_and_down(server: IngotUp) -> None:
    """The workers that a killed server has left are stopped without one."""
    _kill(server)
    _down(server)
    server.__enter__()


def down_and_up(server: IngotUp) -> None:
    _down(server)
    server.process.__exit__(None, None, None)
    server.__enter__()


def interrupt(server: IngotUp) -> None:
    """As Ctrl-C does."""
    os.kill(server.process.pid, signal.SIGINT)
    os.waitid(os.P_PID, server.process.pid, os.WEXITED | os.WNOWAIT)
    server.process.__exit__(None, None, None)
    assert workers(server) == []
    server.__enter__()


def _kill(server: IngotUp) -> None:
    os.kill(server.process.pid, signal.SIGKILL)
    server.process.__exit__(None, None, None)
    # Its children die with it, and have their locks until then.
    time.sleep(0.2)


def _down(server: IngotUp) -> None:
    command = [*INGOT, "down", "--dir", str(server.directory)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "Stopped 1 transfer, which the next ingot up goes on with: test-" in said
    assert "/tough\n" in said
    assert workers(server) == []


HARMS = [kill_worker, kill_machine, kill_server, kill_server_and_down, down_and_up, interrupt]
CASES = [
    *(("http", harm) for harm in HARMS),
    *((origin, harm) for origin in ("registry", "clone") for harm in (kill_worker, kill_server)),
]


@pytest.mark.parametrize(("tap", "harm"), CASES, indirect=["tap"])
async def test_the_work_goes_on_after(
    shelf: Shelf, frail: IngotUp, tap: Tap, wares: Wares, harm: Callable[[IngotUp], None]
) -> None:
    # It cannot end before the harm is done.
    tap.proxy.hold_after(SLOW_SIZE // 2)
    await shelf.make(volume("tough", tap.source, "64Mi"))
    await shelf.moving("tough", SLOW_SIZE // 3)
    assert len(workers(frail)) == 1
    harm(frail)
    tap.proxy.hold_after(math.inf)
    await shelf.filled("tough")
    assert await shelf.content("tough", SLOW_SIZE) == wares.slow
    assert tap.proxy.sent < 1.5 * SLOW_SIZE, "what had come was not fetched again"
    await shelf.idle()


@pytest.mark.parametrize("tap", ["http"], indirect=True)
async def test_after_a_new_start_of_the_machine_only_what_was_synced_counts(
    shelf: Shelf, frail: IngotUp, tap: Tap, wares: Wares
) -> None:
    """The boot that the journal names is not this one any more."""
    tap.proxy.hold_after(SLOW_SIZE // 2)
    await shelf.make(volume("tough", tap.source, "64Mi"))
    await shelf.moving("tough", SLOW_SIZE // 3)
    _down(frail)
    frail.process.__exit__(None, None, None)
    (journal,) = frail.directory.rglob(".disk.img.ingot-journal")
    record = msgspec.msgpack.decode(journal.read_bytes())
    assert record["latest"]["moved"] >= SLOW_SIZE // 3
    journal.write_bytes(msgspec.msgpack.encode({**record, "boot": "the last one"}))
    synced, sent = (record["durable"] or {"moved": 0})["moved"], tap.proxy.sent
    frail.__enter__()
    tap.proxy.hold_after(math.inf)
    await shelf.filled("tough")
    assert await shelf.content("tough", SLOW_SIZE) == wares.slow
    assert tap.proxy.sent - sent >= SLOW_SIZE - synced, "what was not synced was fetched again"
    await shelf.idle()
