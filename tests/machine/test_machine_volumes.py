"""Claims get volumes, on a real API server and in a real directory."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ingot.api.object import Object
from ingot.api.resources import NODES, PODS, STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES
from ingot.kube.client import Client
from ingot.kube.manager import Manager
from ingot.standalone.scheduler.scheduler import Scheduler
from ingot.standalone.volumes.binder import Binder
from ingot.standalone.volumes.provisioner import Provisioner
from machine.machine_support import a_claim, a_node, a_pod, eventually, running


@pytest.fixture
async def node(client: Client) -> AsyncIterator[str]:
    await client.create(NODES, a_node("here"))
    yield "here"
    await client.delete(NODES, "here")


def everything(directory: Path) -> object:
    def add(manager: Manager) -> None:
        Scheduler(manager)
        Binder(manager)
        Provisioner(manager, directory, "here")

    return add


async def bound(client: Client, namespace: str, name: str) -> Object:
    async def look() -> Object | None:
        claim = await client.get(VOLUME_CLAIMS, name, namespace)
        return claim if claim["status"]["phase"] == "Bound" else None

    return await eventually(look)


async def test_a_claim_waits_for_its_pod_and_both_are_bound(
    client: Client, namespace: str, node: str, directory: Path
) -> None:
    async with running(client, everything(directory)):
        await eventually(lambda: client.get(STORAGE_CLASSES, "ingot-local"))
        await client.create(VOLUME_CLAIMS, a_claim(namespace, "disk"))
        await client.create(PODS, a_pod(namespace, "user", ("disk",)))

        async def placed() -> bool:
            return bool((await client.get(PODS, "user", namespace))["spec"].get("nodeName") == node)

        await eventually(placed)
        claim = await bound(client, namespace, "disk")
        volume = await client.get(VOLUMES, claim["spec"]["volumeName"])
        assert volume["status"]["phase"] == "Bound"
        assert os.path.isdir(volume["spec"]["local"]["path"])
        assert claim["status"]["capacity"] == {"storage": "1Gi"}
