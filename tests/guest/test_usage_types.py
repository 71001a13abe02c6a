"""Usage types (B6): where a node keeps the copies of disks, and machines that wait until one has what they ask for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from guest import lab as living
from guest import manifests, parts
from guest.disks import content, data_disk
from guest.lab import Lab
from ingot.api.object import Object, uid_of
from ingot.api.resources import MACHINES
from ingot_up import IngotUp

pytestmark = pytest.mark.timeout(200)

FAST = "fast"


@contextmanager
def offering(lab: Lab, place: Path) -> Iterator[None]:
    """Starts the lab again with storage of one more usage type, and afterwards without."""
    lab.process.__exit__(None, None, None)
    try:
        with IngotUp(lab.directory, [f"--usage-type={FAST}={place}"]):
            yield
    finally:
        IngotUp.__enter__(lab)


def machine(disk: Path) -> Object:
    copy = {"mode": "copy-on-write", "usageType": FAST}
    volume = {"name": "data", "copy": copy, "hostDisk": {"path": str(disk), "type": "Disk"}}
    return manifests.still("default", f"fast-{uuid4().hex[:6]}", [{"name": "data", "disk": {}}], [volume])


def names(place: Path) -> list[str]:
    return [path.name for path in place.iterdir()]


async def test_a_machine_waits_for_storage_of_its_usage_type(doomed: Lab) -> None:
    place = doomed.home / FAST
    disk = doomed.home / "source.img"
    data_disk(disk, content("source"))
    async with parts.connected(doomed) as client:
        await living.node_name(client)
        waiting = await client.create(MACHINES, machine(disk))
        message = await living.refused(client, waiting, "UsageTypeNotOffered")
        assert f'volume "data" wants storage of usage type "{FAST}"' in message
        assert "starts by itself once a node offers it" in message
        instance = await living.instance_of(client, waiting)
        assert instance
        assert await living.warning_of(client, instance, "UsageTypeNotOffered") == message
    with offering(doomed, place):
        async with parts.connected(doomed) as client:
            instance = await living.running(client, waiting)
            assert names(place) == [f"{uid_of(instance)}-data.qcow2"]
            pools = {line.split()[0]: line.split()[1] for line in parts.virsh(doomed, "pool-list")}
            assert {f"ingot-{FAST}": "active", "ingot-default": "active"}.items() <= pools.items()
            volumes = parts.virsh(doomed, "vol-list", f"ingot-{FAST}")
            assert [line.split()[0] for line in volumes] == [f"{uid_of(instance)}-data.qcow2"]
            await living.deleted(client, waiting)
            await parts.nothing_but(doomed, client, set(), place)
