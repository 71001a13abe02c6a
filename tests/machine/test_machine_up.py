"""`ingot up` with everything beside it: restarts, what is told of it, and who may read what it writes."""

import asyncio
import json
import os
import signal
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eventual import eventually
from ingot.api.resources import PODS, STORAGE_CLASSES, VOLUME_CLAIMS
from ingot.host.process import Process
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from ingot.standalone.volumes.words import LOCAL_CLASS
from ingot_up import IngotUp, WholeMachine
from kube.server import INGOT
from machine.machine_support import a_claim
from machine.pod_support import a_bound_pod, a_container, gone, reached

NODE = "lab"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IngotUp]:
    with WholeMachine(tmp_path_factory.mktemp("up") / "d", ["--node-name", NODE]) as server:
        yield server


def status(server: IngotUp) -> dict[str, Any]:
    command = [*INGOT, "status", "--dir", str(server.directory), "--output", "json"]
    return dict(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


async def machine_running(server: IngotUp, other_than: int = 0) -> int:
    async def look() -> int:
        found = (await asyncio.to_thread(status, server)).get("machine", {})
        return int(found.get("pid", 0)) if found.get("pid") != other_than else 0

    return await eventually(look)


async def test_the_machine_becomes_a_node_that_status_shows(whole: IngotUp) -> None:
    async def look() -> list[dict[str, str]]:
        found: list[dict[str, str]] = (await asyncio.to_thread(status, whole)).get("nodes", [])
        return [node for node in found if node["state"] == "Ready"]

    assert [node["name"] for node in await eventually(look)] == [NODE]


async def test_a_child_that_is_killed_is_started_again(whole: IngotUp) -> None:
    first = await machine_running(whole)
    os.kill(first, signal.SIGKILL)
    second = await machine_running(whole, other_than=first)
    assert Process.of(second).alive
    assert (await asyncio.to_thread(status, whole))["machine"]["restarts"] >= 1


@pytest.mark.skipif(os.geteuid() != 0, reason="guests run as another user only for root")
async def test_a_directory_that_guests_cannot_reach_is_told_with_the_cure(whole: IngotUp) -> None:
    async def look() -> str:
        found = (await asyncio.to_thread(status, whole)).get("agent", {})
        return str(found.get("message", "")) if found.get("state") == "NeedsMending" else ""

    # pytest's directories are closed to all other users.
    message = await eventually(look)
    assert "may not be entered by libvirt-qemu, as whom guests run; chmod o+x " in message


async def test_nobody_else_can_read_what_is_in_the_directory(whole: IngotUp) -> None:
    await machine_running(whole)
    root = os.geteuid() == 0
    assert stat.S_IMODE(whole.directory.stat().st_mode) == (0o711 if root else 0o700)
    readable = []
    for place, directories, files in os.walk(whole.directory):
        for name in (*directories, *files):
            path = Path(place) / name
            mode = path.lstat().st_mode
            others = stat.S_IMODE(mode) & 0o077
            # Directories on the way to disks may be passed by QEMU's user, and listed by nobody.
            if others and not (stat.S_ISDIR(mode) and others == 0o011) and not stat.S_ISLNK(mode):
                readable.append(f"{path}: {stat.S_IMODE(mode):o}")
    assert readable == []


@pytest.mark.parametrize("mode", ["Filesystem", "Block"])
async def test_a_pod_finds_its_node_and_its_claim_a_volume(whole: IngotUp, mode: str) -> None:
    if mode == "Block" and os.geteuid() != 0:
        pytest.skip("only root can make loop devices")
    name = f"data-{mode.lower()}"
    where = {"Filesystem": ("volumeMounts", "mountPath", "/v"), "Block": ("volumeDevices", "devicePath", "/dev/v")}
    field, key, path = where[mode]
    script = {"Filesystem": "echo kept > /v/file", "Block": "echo kept | dd of=/dev/v conv=fsync"}[mode]
    async with Client.connect(load(whole.kubeconfig)) as client:
        await eventually(lambda: client.get(STORAGE_CLASSES, LOCAL_CLASS))
        await client.create(VOLUME_CLAIMS, a_claim("default", name, "8Mi", volumeMode=mode))
        pod = a_bound_pod("default", name, a_container(script, **{field: [{"name": "v", key: path}]}))
        del pod["spec"]["nodeName"]
        pod["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]
        made = await client.create(PODS, pod)
        await reached(client, made, "Succeeded")
        await client.delete(PODS, name, "default")
        await gone(client, made)
        claim = await client.get(VOLUME_CLAIMS, name, "default")
        place = whole.directory / "volumes" / claim["spec"]["volumeName"]
        kept = {"Filesystem": place / "file", "Block": place / "block.img"}[mode]
        assert (await asyncio.to_thread(kept.read_bytes)).startswith(b"kept\n")
        await client.delete(VOLUME_CLAIMS, name, "default")
        await eventually(lambda: asyncio.to_thread(lambda: not place.exists()))


async def test_children_end_with_a_server_that_is_killed(tmp_path: Path) -> None:
    server = WholeMachine(tmp_path / "d", ["--node-name", NODE])
    with server:
        pid = await machine_running(server)
        child = Process.of(pid)
        os.kill(server.process.pid, signal.SIGKILL)
        assert await child.ended(5)
    with server:
        await machine_running(server)
