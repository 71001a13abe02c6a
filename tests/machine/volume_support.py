"""Claims and volumes for tests of what makes them, and what is looked at of them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eventual import eventually
from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.resources import PODS, VOLUME_CLAIMS, VOLUMES
from ingot.api.status import ApiError
from ingot.kube.client import Client
from ingot.kube.manager import Manager
from ingot.standalone.scheduler.scheduler import Scheduler
from ingot.standalone.volumes import loop
from ingot.standalone.volumes.binder import Binder
from ingot.standalone.volumes.provisioner import Provisioner
from machine.machine_support import a_claim, a_pod

needs_loop = pytest.mark.skipif(
    os.geteuid() != 0 or not loop.CONTROL.exists(), reason="loop devices need root and /dev/loop-control"
)


def everything(directory: Path) -> Callable[[Manager], None]:
    def add(manager: Manager) -> None:
        Scheduler(manager)
        Binder(manager)
        Provisioner(manager, directory, "here")

    return add


async def clear(client: Client, namespace: str, *kinds: Resource) -> None:
    """Deletes all that is there; what goes meanwhile is gone."""
    for kind in kinds:
        for each in (await client.list(kind, namespace))["items"]:
            try:
                await client.delete(kind, each["metadata"]["name"], namespace, grace_period=0)
            except ApiError as error:
                if error.code != 404:
                    raise


async def nothing_left(client: Client, directory: Path) -> bool:
    volumes = (await client.list(VOLUMES))["items"]
    return not [each for each in volumes if str(directory) in str(each["spec"].get("local"))] and not left_in(directory)


def left_in(directory: Path) -> list[str]:
    here = [path.name for path in directory.iterdir() if path.name not in (".records", ".snapshots")]
    return sorted(here + [path.name for path in (directory / ".records").iterdir()])


async def in_phase(client: Client, namespace: str, name: str, phase: str = "Bound") -> Object:
    async def look() -> Object | None:
        claim = await client.get(VOLUME_CLAIMS, name, namespace)
        return claim if claim["status"]["phase"] == phase else None

    return await eventually(look)


async def volume_in_phase(client: Client, name: str, phase: str) -> Object:
    async def look() -> Object | None:
        volume = await client.get(VOLUMES, name)
        return volume if volume["status"]["phase"] == phase else None

    return await eventually(look)


async def used(client: Client, namespace: str, name: str, **spec: Any) -> Object:
    """A claim that a pod uses: bound, with the path of its volume under "path"."""
    await client.create(VOLUME_CLAIMS, a_claim(namespace, name, **spec))
    await client.create(PODS, a_pod(namespace, f"user-of-{name}", (name,)))
    claim = await in_phase(client, namespace, name)
    volume = await client.get(VOLUMES, claim["spec"]["volumeName"])
    return {**claim, "path": Path(volume["spec"]["local"]["path"]), "volume": volume}


async def release(client: Client, namespace: str, name: str) -> None:
    await client.delete(PODS, f"user-of-{name}", namespace, grace_period=0)


async def annotate(client: Client, namespace: str, name: str, annotations: dict[str, str]) -> None:
    """Somebody says that of a claim."""
    await client.patch(VOLUME_CLAIMS, name, {"metadata": {"annotations": annotations}}, namespace)


def is_directory(path: Path) -> bool:
    return path.is_dir()


def asking(size: str) -> Object:
    return {"spec": {"resources": {"requests": {"storage": size}}}}


def device_size(path: Path) -> int:
    with path.open("rb") as device:
        return device.seek(0, os.SEEK_END)


def write(path: Path, content: bytes = b"guest data") -> None:
    path.write_bytes(content)


def read(path: Path) -> bytes:
    return path.read_bytes()


def copy_of(name: str) -> Object:
    return {"dataSource": {"kind": "PersistentVolumeClaim", "name": name}}
