"""A new version of an image costs what has changed in it, where the volume of the version before is here (X4)."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from eventual import eventually
from images.servers.limited import LimitedProxy
from images.servers.registry import DockerRegistry
from ingot.api.cdi import names
from ingot.api.object import Object, name_of
from ingot.api.resources import DATA_VOLUMES, VOLUME_CLAIMS
from ingot.images.disk import open_disk
from ingot.images.push import PushOptions, push_disk
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.settings import Settings
from volumes.conftest import started
from volumes.shelf import Shelf, ingot, volume, workers
from volumes.wares import MIB

SIZE, CHANGED, AT = 48 * MIB, 10 * MIB, 21 * MIB
# What an import of what has changed may cost: tables, and chunks that have changed in part.
MOST = CHANGED + MIB


@dataclass(frozen=True, slots=True)
class Versions:
    """Two versions of a disk in a registry at `host`, and as a proxy shows it that counts; and what must come out."""

    host: str
    registry: LimitedProxy
    first: bytes
    second: bytes

    def volume(self, name: str, version: str, previous: str = "", **spec: Any) -> Object:
        """One that is counted where it names the claim of a version before."""
        host = self.registry.host if previous else self.host
        made = volume(name, {"registry": {"url": f"docker://{host}/test/disk:{version}"}}, "96Mi", **spec)
        made["metadata"]["annotations"] = {names.DELTA_FROM: previous} if previous else {}
        return made


@pytest.fixture(scope="module")
def _counted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Versions]:
    dice = random.Random(5)  # noqa: S311 - the same bytes every time
    first = dice.randbytes(SIZE)
    second = b"".join((first[:AT], dice.randbytes(CHANGED), first[AT + CHANGED :]))
    place = tmp_path_factory.mktemp("versions")
    for server in started(DockerRegistry()):
        with Registry(Settings()) as registry:
            for version, content in (("v1", first), ("v2", second)):
                path = place / version
                path.write_bytes(content)
                disk = open_disk(path)
                try:
                    push_disk(registry, disk, Reference.parse(f"{server.host}/test/disk:{version}"), PushOptions())
                finally:
                    disk.close()
                path.unlink()
        with LimitedProxy(int(server.host.rpartition(":")[2])) as proxy:
            yield Versions(server.host, proxy, first, second)


@pytest.fixture
async def versions(_counted: Versions, shelf: Shelf) -> Versions:
    """With the volume of the first one on the shelf."""
    _counted.registry.limit(0)
    await shelf.make(_counted.volume("one", "v1"))
    await shelf.filled("one")
    _counted.registry.sent = 0
    return _counted


@pytest.mark.parametrize("mode", ["Filesystem", "Block"])
async def test_only_what_has_changed_is_fetched(shelf: Shelf, versions: Versions, mode: str) -> None:
    if mode == "Block" and os.geteuid() != 0:
        pytest.skip("only root has loop devices")
    await shelf.make(versions.volume("two", "v2", previous="one", storage={"volumeMode": mode}))
    made = await shelf.filled("two")
    assert CHANGED < versions.registry.sent < MOST
    assert await shelf.content("two", SIZE) == versions.second
    assert await shelf.content("one", SIZE) == versions.first
    told = json.loads((await shelf.claim("two"))["metadata"]["annotations"][names.DELTA])
    assert CHANGED < told["fetched"] < MOST
    assert told["reused"] == SIZE - CHANGED
    (said,) = await eventually(lambda: shelf.events(made, "ImportSucceeded"))
    assert '38.0 MiB were in claim "one" already' in said
    # From a device into a file, too.
    versions.registry.sent = 0
    url = f"docker://{versions.registry.host}/test/disk:v1"
    await ingot(shelf.server, "volume", "import", url, "back", "--delta-from", "two", "-n", shelf.namespace)
    assert versions.registry.sent < MOST
    assert await shelf.content("back", SIZE) == versions.first


def _written_to(disk: Path) -> None:
    with disk.open("r+b") as file:
        file.seek(MIB)
        file.write(bytes(MIB))


def _cut_short(disk: Path) -> None:
    os.truncate(disk, SIZE - MIB)


def _linked(disk: Path) -> None:
    """Where it leads, all chunks would be found."""
    disk.symlink_to(disk.rename(disk.with_name("other")))


async def test_what_was_put_in_the_volume_of_before_does_no_harm(shelf: Shelf, versions: Versions) -> None:
    """One harm after the other; and a claim that is not there at all."""
    disk = (await shelf.place("one")) / "disk.img"
    costs = {_written_to: MIB, _cut_short: 2 * MIB, _linked: SIZE - CHANGED}
    for name, (harm, cost) in zip(("two", "three", "four"), costs.items(), strict=True):
        await asyncio.to_thread(harm, disk)
        versions.registry.sent = 0
        await shelf.make(versions.volume(name, "v2", previous="one"))
        await shelf.filled(name)
        assert CHANGED + cost < versions.registry.sent < MOST + cost + MIB, name
        assert await shelf.content(name, SIZE) == versions.second
    await shelf.make(versions.volume("five", "v2", previous="nothing"))
    await shelf.filled("five")
    assert await shelf.content("five", SIZE) == versions.second
    assert names.DELTA not in (await shelf.claim("five"))["metadata"]["annotations"]


async def test_a_worker_that_is_killed_goes_on(shelf: Shelf, versions: Versions) -> None:
    """X5: neither what was fetched nor what was here is done again; nor is the claim needed for longer than that."""
    versions.registry.limit(2 * MIB)
    await shelf.make(versions.volume("two", "v2", previous="one"))
    await eventually(lambda: asyncio.to_thread(lambda: versions.registry.sent > CHANGED // 2))
    await shelf.client.delete(DATA_VOLUMES, "one", shelf.namespace)
    for pid in workers(shelf.server):
        os.kill(pid, signal.SIGKILL)
    versions.registry.limit(0)
    await shelf.filled("two")
    assert versions.registry.sent < 2 * CHANGED
    assert await shelf.content("two", SIZE) == versions.second

    async def cleared() -> bool:
        claims = (await shelf.client.list(VOLUME_CLAIMS, shelf.namespace))["items"]
        return [name_of(each) for each in claims] == ["two"]

    await eventually(cleared)
