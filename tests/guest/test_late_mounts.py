"""Filesystems that are mounted after libvirtd was started, in whose mount namespace they need not be."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from guest import lab as living
from guest import manifests
from guest.disks import MIB, content, data_disk
from guest.lab import Lab
from guest.manifests import resource_of
from ingot.api.resources import NAMESPACES
from ingot.kube.client import Client

pytestmark = pytest.mark.timeout(200)


@pytest.fixture
def late(lab: Lab) -> Iterator[Path]:
    """A filesystem that was mounted just now."""
    if os.geteuid() != 0:
        pytest.skip("only root mounts filesystems")
    place = lab.home / f"spät {uuid4().hex[:6]}"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m,mode=0755", "ingot-test", place], check=True)
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


async def test_a_guest_has_a_disk_on_it_which_does_not_grow_beyond_it(client: Client, late: Path) -> None:
    namespace, node = f"late-{uuid4().hex[:6]}", await living.node_name(client)
    disk = late / "disk.img"
    data_disk(disk, content("late"))
    await client.create(NAMESPACES, manifests.namespace(namespace))
    affinity = manifests.on_node(node)
    for obj in manifests.bound_claim(namespace, "data", "Filesystem", local={"path": str(late)}, nodeAffinity=affinity):
        await client.create(resource_of(obj), obj)
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    machine = manifests.still(namespace, "late", [{"name": "data", "disk": {}}], [volume])
    async with living.created(client, machine) as made:
        instance = await living.running(client, made)
        # The volume says that it has 1 GiB.
        message = await living.warning_of(client, instance, "VolumeResizeFailed")
        assert f"the guest sees {8 * MIB}: its filesystem has room for" in message
        assert message.endswith("make room there; tried again in 10 s")
    assert disk.stat().st_size == 8 * MIB
