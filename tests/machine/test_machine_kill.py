"""`ingot machine` is killed again and again while pods come and go: none is lost, none runs twice, nothing is left."""

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from eventual import eventually
from ingot.api.object import Object
from ingot.api.resources import PODS
from ingot.kube.client import Client
from ingot_up import IngotUp
from kube.process import Process
from kube.server import INGOT
from machine.pod_support import NODE, a_bound_pod, a_container, directory_of, gone, processes_of, reached

ROUNDS = 12


@asynccontextmanager
async def machine(server: IngotUp) -> AsyncIterator[Process]:
    command = [*INGOT, "machine", "--dir", str(server.directory), "--node-name", NODE]
    with Process("ingot machine", command, server.directory / "test-machine.log") as process:
        yield process


async def killed_soon(server: IngotUp, seconds: float) -> None:
    async with machine(server) as process:
        await asyncio.sleep(seconds)
        process.check()
        os.kill(process.pid, signal.SIGKILL)


async def test_kills_at_any_moment_lose_nothing_and_leave_nothing(
    client: Client, namespace: str, machine_server: IngotUp
) -> None:
    kubelet = machine_server.directory / "kubelet"
    chance = random.Random(7)  # noqa: S311 - moments, not secrets
    pods: list[Object] = []
    removed: list[Object] = []
    for number in range(ROUNDS):
        # Each run of the container adds a line: one that ran twice at a time would add two.
        script = f"echo x >> {machine_server.directory}/ran-{number}; exec sleep 60"
        pods.append(await client.create(PODS, a_bound_pod(namespace, f"p{number}", a_container(script))))
        if number % 3 == 2:
            removed.append(pods.pop(0))
            await client.delete(PODS, removed[-1]["metadata"]["name"], namespace)
        await killed_soon(machine_server, 0.4 + chance.random() * 0.5)
    before = {pod["metadata"]["name"]: address_of(kubelet, pod) for pod in pods}
    async with machine(machine_server):
        for pod in pods:
            found = await reached(client, pod, "Running")
            assert found["status"]["podIP"] == (before[pod["metadata"]["name"]] or address_of(kubelet, pod))
            assert found["status"]["containerStatuses"][0]["restartCount"] == 0
        for pod in removed:
            await gone(client, pod)
        assert count(machine_server.directory) == {"x\n"}
        assert len({address_of(kubelet, pod) for pod in pods}) == len(pods)
        for pod in pods:
            await client.delete(PODS, pod["metadata"]["name"], namespace)
            await gone(client, pod)
        await eventually(lambda: asyncio.to_thread(lambda: not list((kubelet / "pods").iterdir())))
    assert not processes_of(kubelet)


def address_of(kubelet: Path, pod: Object) -> str:
    """The address that was written down for the pod, "" if none was yet."""
    file = directory_of(kubelet, pod) / "address"
    return file.read_text().strip() if file.exists() else ""


def count(directory: Path) -> set[str]:
    return {path.read_text() for path in directory.glob("ran-*")}
