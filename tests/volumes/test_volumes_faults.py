"""What cannot heal ends in Failed and says why; what can is waited for, and goes on where it was."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from functools import partial

import pytest
import pytest_asyncio

from eventual import eventually
from guest.servers.nginx import Nginx
from images.servers.gate import Gate
from images.servers.limited import LimitedProxy
from images.servers.registry import HTPASSWD, DockerRegistry
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import DATA_VOLUMES
from ingot.images.reference import Reference
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from ingot.kube.objects import condition
from ingot_up import IngotUp
from volumes.conftest import new_shelf, push, started
from volumes.shelf import Shelf, ingot, phase, volume
from volumes.wares import SLOW_RATE, SLOW_SIZE, Wares

# What is wrong, and a word that the reason must have.
HOPELESS = {
    "missing": ({"http": {"url": "{web}/nowhere.raw"}}, "not there"),
    "forbidden": ({"http": {"url": "{web}/private/disk.raw"}}, "does not know us"),
    "wrong-checksum": ({"http": {"url": "{web}/disk.raw", "checksum": "sha256:" + 64 * "0"}}, "sha256"),
    "bad-format": ({"http": {"url": "{web}/bad.qcow2"}}, "backing"),
    "too-large": ({"http": {"url": "{web}/disk.qcow2"}}, "at most"),
    "missing-tag": ({"registry": {"url": "docker://{open}/test/disk:nosuch"}}, "not there"),
    "closed-registry": ({"registry": {"url": "docker://{closed}/test/disk:v1"}}, "secretRef"),
    "wrong-digest": ({"registry": {"url": "docker://{open}/test/disk:v1"}}, "sha256"),
}


@pytest.fixture(scope="module")
def spoilt(wares: Wares) -> Iterator[DockerRegistry]:
    """A registry whose one image has other bytes than its digests say."""
    for server in started(DockerRegistry()):
        push(wares.directory / "disk.raw", Reference.parse(f"{server.host}/test/disk:v1"))
        layer = max(server.storage.rglob("data"), key=lambda path: path.stat().st_size)
        content = bytearray(layer.read_bytes())
        content[: len(content) // 2] = os.urandom(len(content) // 2)
        layer.write_bytes(content)
        yield server


@pytest.fixture(scope="module")
def closed() -> Iterator[DockerRegistry]:
    yield from started(DockerRegistry(htpasswd=HTPASSWD))


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def doomed(whole: IngotUp, web: Nginx, spoilt: DockerRegistry, closed: DockerRegistry) -> AsyncIterator[Shelf]:
    """All that has no hope, begun before all else: the pauses between tries pass meanwhile, and keep nobody waiting."""
    places = {"web": web.http, "open": spoilt.host, "closed": closed.host}
    async with Client.connect(load(whole.kubeconfig), on_warning=lambda _: None) as client:
        shelf = await new_shelf(client, whole)
        for name, (source, _) in HOPELESS.items():
            ((kind, given),) = source.items()
            made = {kind: {**given, "url": given["url"].format(**places)}}
            await shelf.make(volume(name, made, "4Mi" if name == "too-large" else "32Mi"))
        yield shelf


@pytest.fixture
def slow(web: Nginx) -> Iterator[LimitedProxy]:
    """The web server behind a slow line that counts."""
    with LimitedProxy(web.http_port, SLOW_RATE) as proxy:
        yield proxy


async def test_a_server_that_vanishes_and_comes_back_is_waited_for(
    shelf: Shelf, slow: LimitedProxy, wares: Wares
) -> None:
    with Gate(slow.port) as gate:
        await shelf.make(volume("patient", {"http": {"url": f"http://{gate.host}/slow.raw"}}, "64Mi"))
        await shelf.moving("patient", SLOW_SIZE // 4)
        # Longer than a worker tries by itself: its container ends, and is started again.
        gate.shut(for_seconds=3.0)
        await shelf.filled("patient")
    assert await shelf.content("patient", SLOW_SIZE) == wares.slow
    assert slow.sent < 1.5 * SLOW_SIZE, "what had come was not fetched again"


async def test_what_no_disk_here_holds_waits_and_says_why(shelf: Shelf) -> None:
    await shelf.make(volume("vast", {"blank": {}}, "900Ti"))

    def says(each: Object) -> bool:
        running = condition(each, "Running") or {}
        return running.get("reason") == "ProvisioningFailed" and "ask for less" in running["message"]

    found = await shelf.until("vast", says)
    for each in (found, await shelf.claim("vast")):
        assert await eventually(partial(shelf.events, each, "ProvisioningFailed"))


async def test_a_size_below_one_block_is_refused_in_words(shelf: Shelf) -> None:
    await shelf.make(volume("tiny", {"blank": {}}, "100m"))
    assert "at least 4096 bytes; make the claim anew with more, final" in await shelf.failed("tiny")


async def test_deletion_in_the_middle_leaves_nothing(shelf: Shelf, slow: LimitedProxy) -> None:
    await shelf.make(volume("short", {"http": {"url": f"http://127.0.0.1:{slow.port}/slow.raw"}}, "64Mi"))
    await shelf.moving("short", 1)
    await shelf.client.delete(DATA_VOLUMES, "short", shelf.namespace)
    await shelf.nothing_left()


async def test_progress_is_told_in_bytes_with_rate_and_estimate(shelf: Shelf, slow: LimitedProxy) -> None:
    await shelf.make(volume("told", {"http": {"url": f"http://127.0.0.1:{slow.port}/slow.raw"}}, "64Mi"))
    found = await shelf.until("told", lambda each: _told(each).get("total", 0) > _told(each).get("done", 0) > 0)
    transfer = _told(found)
    assert phase(found) == "ImportInProgress"
    assert transfer["total"] == SLOW_SIZE
    assert transfer["bytesPerSecond"] > 0
    assert transfer["secondsLeft"] >= 0
    assert found["status"]["progress"].endswith("%")


def _told(volume: Object) -> Object:
    return dict((volume.get("status") or {}).get("transfer") or {})


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", HOPELESS)
async def test_what_cannot_heal_fails_and_says_why(doomed: Shelf, name: str) -> None:
    """G1: bounded tries, then Failed for good; nothing works on it any more, and no volume is kept for it."""
    _, word = HOPELESS[name]
    said = await doomed.failed(name)
    assert word in said, said
    assert "final" in said, said
    found = await doomed.get(name)
    claim = await doomed.claim(name)
    assert claim["status"].get("phase") != "Bound"

    async def alone() -> bool:
        return not [each for each in await doomed.pods() if uid_of(claim) in name_of(each)]

    await eventually(alone)

    async def heard() -> bool:
        return any(word in each for each in await doomed.events(found))

    await eventually(heard)


@pytest.mark.asyncio(loop_scope="module")
async def test_what_has_failed_goes_without_a_trace(doomed: Shelf) -> None:
    said = await ingot(doomed.server, "volume", "watch", "bad-format", "-n", doomed.namespace, code=1)
    assert "backing" in said
    for name in HOPELESS:
        await doomed.client.delete(DATA_VOLUMES, name, doomed.namespace)
    await doomed.nothing_left()
