"""A process that dies before any step of making or deleting a volume leaves nothing that the next one does not find."""

import asyncio
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eventual import eventually
from ingot.api.resources import NODES, PODS, STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES
from ingot.kube.client import Client
from ingot.kube.manager import Manager
from ingot.standalone.scheduler.scheduler import Scheduler
from ingot.standalone.volumes import local, loop
from ingot.standalone.volumes.binder import Binder
from ingot.standalone.volumes.local import LocalVolumes
from ingot.standalone.volumes.provisioner import Provisioner
from ingot.standalone.volumes.records import Records
from ingot.standalone.volumes.removal import Removal
from ingot_up import IngotUp
from machine.machine_support import a_claim, a_node, a_pod, running

MODE = "Block" if os.geteuid() == 0 and loop.CONTROL.exists() else "Filesystem"
BLOCK_ONLY = pytest.mark.skipif(MODE != "Block", reason="loop devices need root and /dev/loop-control")


NOT_VOLUMES = (".records", ".snapshots")


class Fault:
    """From the `number`th call on, `owner.name` is never reached again; `after`: its work is done, nothing after."""

    def __init__(self, owner: Any, name: str, number: int = 1, *, after: bool = False) -> None:
        self.owner, self.name, self.number, self.after = owner, name, number, after
        self.hit = asyncio.Event()
        self._calls = 0

    def arm(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real: Callable[..., Any] = getattr(self.owner, self.name)
        running_loop = asyncio.get_running_loop()

        def faulty(*args: Any, **kwargs: Any) -> Any:
            self._calls += 1
            if self._calls < self.number:
                return real(*args, **kwargs)
            if self.after and self._calls == self.number:
                real(*args, **kwargs)
            running_loop.call_soon_threadsafe(self.hit.set)
            raise RuntimeError("killed by the test")

        monkeypatch.setattr(self.owner, self.name, faulty)


MAKING = [
    ("record", lambda: Fault(Records, "begin", after=True)),
    ("filled", lambda: Fault(LocalVolumes, "publish")),
    ("published", lambda: Fault(LocalVolumes, "publish", after=True)),
    pytest.param("configured", lambda: Fault(loop, "attach", after=True), marks=BLOCK_ONLY),
    pytest.param("attached", lambda: Fault(LocalVolumes, "attach", after=True), marks=BLOCK_ONLY),
    ("made", lambda: Fault(Provisioner, "_create")),
]
DELETING = [
    ("before", lambda: Fault(LocalVolumes, "remove")),
    pytest.param("detached", lambda: Fault(loop, "detach", after=True), marks=BLOCK_ONLY),
    ("renamed", lambda: Fault(local, "sync_directory", after=True)),
    ("half deleted", lambda: Fault(local, "remove_tree", 2)),
    ("deleted", lambda: Fault(Removal, "_let_go")),
    ("let go", lambda: Fault(LocalVolumes, "forget")),
]


def everything(directory: Path) -> Callable[[Manager], None]:
    def add(manager: Manager) -> None:
        Scheduler(manager)
        Binder(manager)
        Provisioner(manager, directory, "here")

    return add


async def begin(client: Client, namespace: str) -> None:
    await eventually(lambda: client.get(STORAGE_CLASSES, "ingot-local"))
    await client.create(VOLUME_CLAIMS, a_claim(namespace, "disk", size="1Mi", volumeMode=MODE))
    await client.create(PODS, a_pod(namespace, "user", ("disk",)))


async def is_bound(client: Client, namespace: str) -> bool:
    return bool((await client.get(VOLUME_CLAIMS, "disk", namespace))["status"]["phase"] == "Bound")


async def drop(client: Client, namespace: str) -> None:
    await client.delete(PODS, "user", namespace, grace_period=0)
    await client.delete(VOLUME_CLAIMS, "disk", namespace)


async def nothing_left(client: Client, directory: Path) -> bool:
    return not (await client.list(VOLUMES))["items"] and not left_in(directory) and not devices_in(directory)


def left_in(directory: Path) -> list[Path]:
    return [
        path for path in (*directory.iterdir(), *(directory / ".records").iterdir()) if path.name not in NOT_VOLUMES
    ]


def devices_in(directory: Path) -> list[str]:
    found = []
    for path in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            found.append(path.read_text())
        except OSError:
            continue  # Detached in this moment.
    return [text for text in found if str(directory) in text]


@pytest.fixture(autouse=True)
async def node(client: Client) -> Any:
    await client.create(NODES, a_node("here"))
    yield
    await client.delete(NODES, "here")


@pytest.mark.parametrize(("step", "fault"), MAKING)
@pytest.mark.parametrize("wanted", [True, False], ids=["still-wanted", "given-up"])
async def test_killed_while_making(
    client: Client, namespace: str, directory: Path, step: str, fault: Callable[[], Fault], wanted: bool
) -> None:
    broken = fault()
    with pytest.MonkeyPatch.context() as patch:
        broken.arm(patch)
        async with running(client, everything(directory)):
            await begin(client, namespace)
            await asyncio.wait_for(broken.hit.wait(), 20)
    if not wanted:
        await drop(client, namespace)
    async with running(client, everything(directory)):
        if wanted:
            await eventually(lambda: is_bound(client, namespace))
            await drop(client, namespace)
        await eventually(lambda: nothing_left(client, directory))


@pytest.mark.parametrize(("step", "fault"), DELETING)
async def test_killed_while_deleting(
    client: Client, namespace: str, directory: Path, step: str, fault: Callable[[], Fault]
) -> None:
    broken = fault()
    with pytest.MonkeyPatch.context() as patch:
        async with running(client, everything(directory)):
            await begin(client, namespace)
            await eventually(lambda: is_bound(client, namespace))
            broken.arm(patch)
            await drop(client, namespace)
            await asyncio.wait_for(broken.hit.wait(), 20)
    async with running(client, everything(directory)):
        await eventually(lambda: nothing_left(client, directory))


async def test_killed_at_any_moment_again_and_again(
    client: Client, namespace: str, directory: Path, machine_server: IngotUp
) -> None:
    """Claims come and go while the process that serves them is killed: in the end all are served, or gone."""
    program = str(Path(__file__).with_name("volumes_process.py"))
    command = (sys.executable, program, str(machine_server.kubeconfig), str(directory))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    chance = random.Random(20261116)  # noqa: S311 - the same moments each time, as far as the machine lets them be
    for number in range(8):
        process = await asyncio.create_subprocess_exec(*command, env=environment)
        await eventually(lambda: client.get(STORAGE_CLASSES, "ingot-local"))
        await client.create(VOLUME_CLAIMS, a_claim(namespace, f"c{number}", size="1Mi", volumeMode=MODE))
        await client.create(PODS, a_pod(namespace, f"p{number}", (f"c{number}",)))
        if number > 1:
            await client.delete(PODS, f"p{number - 2}", namespace, grace_period=0)
            await client.delete(VOLUME_CLAIMS, f"c{number - 2}", namespace)
        await asyncio.sleep(0.3 + chance.random() * 0.6)
        process.kill()
        await process.wait()

    async def settled() -> bool:
        claims = (await client.list(VOLUME_CLAIMS, namespace))["items"]
        volumes = sorted(volume["metadata"]["name"] for volume in (await client.list(VOLUMES))["items"])
        wanted = sorted(str(claim["spec"].get("volumeName")) for claim in claims)
        there = sorted(path.name for path in left_in(directory))
        phases = {claim["status"]["phase"] for claim in claims}
        return len(claims) == 2 and phases == {"Bound"} and volumes == wanted and there == sorted(volumes * 2)

    async with running(client, everything(directory)):
        await eventually(settled)
        for number in (6, 7):
            await client.delete(PODS, f"p{number}", namespace, grace_period=0)
            await client.delete(VOLUME_CLAIMS, f"c{number}", namespace)
        await eventually(lambda: nothing_left(client, directory))
