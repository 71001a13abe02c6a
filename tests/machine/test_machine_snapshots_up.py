"""`ingot up` on a filesystem that shares blocks: snapshots under a pod that writes, and under kill -9 (F5)."""

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from eventual import eventually
from ingot.api.cdi.names import SHARES_BLOCKS
from ingot.api.object import Object
from ingot.api.resources import NODES, PODS, SERVICE_ACCOUNTS, SNAPSHOT_CLASSES, SNAPSHOTS, VOLUME_CLAIMS
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from ingot_up import IngotUp, WholeMachine
from kube.server import INGOT
from machine.machine_support import a_claim
from machine.pod_support import a_container, reached
from machine.volume_support import clear
from machine.xfs import mounted

NODE, NAMESPACE = "lab", "default"
COUNTS = "i=0; while true; do i=$((i+1)); echo $i > /data/next; mv /data/next /data/disk.img; sleep 0.02; done"


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[IngotUp]:
    with mounted(tmp_path) as place, WholeMachine(place / "d", ["--node-name", NODE]) as server:
        yield server


@pytest.fixture
async def client(whole: IngotUp) -> AsyncIterator[Client]:
    async with Client.connect(load(whole.kubeconfig), on_warning=lambda _: None) as client:
        await eventually(lambda: client.get(SERVICE_ACCOUNTS, "default", NAMESPACE))
        await eventually(lambda: client.get(SNAPSHOT_CLASSES, "ingot-local"))
        yield client
        await clear(client, NAMESPACE, PODS)

        async def ended() -> bool:
            return not (await client.list(PODS, NAMESPACE))["items"]

        await eventually(ended)


def a_user(name: str, claim: str, script: str) -> Object:
    container = a_container(script, volumeMounts=[{"name": "v", "mountPath": "/data"}])
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "containers": [container],
            "automountServiceAccountToken": False,
            "restartPolicy": "Never",
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}],
        },
    }


def a_snapshot(name: str) -> Object:
    return {
        "apiVersion": SNAPSHOTS.api_version,
        "kind": SNAPSHOTS.kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"source": {"persistentVolumeClaimName": "disk"}},
    }


async def ready(client: Client, name: str) -> None:
    async def look() -> bool:
        found = await client.get(SNAPSHOTS, name, NAMESPACE)
        return bool((found.get("status") or {}).get("readyToUse"))

    await eventually(look)


async def held(client: Client, name: str) -> int:
    """What the snapshot held, read by a pod from a volume that is made of it."""
    source = {"apiGroup": SNAPSHOTS.group, "kind": SNAPSHOTS.kind, "name": name}
    await client.create(VOLUME_CLAIMS, a_claim(NAMESPACE, f"of-{name}", "2Gi", dataSource=source))
    script = "cat /data/disk.img > /dev/termination-log"
    pod = await client.create(PODS, a_user(f"of-{name}", f"of-{name}", script))
    found = await reached(client, pod, "Succeeded")
    return int(found["status"]["containerStatuses"][0]["state"]["terminated"]["message"])


def machine_of(server: IngotUp) -> int:
    command = [*INGOT, "status", "--dir", str(server.directory), "--output", "json"]
    return int(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["machine"]["pid"])


async def test_snapshots_under_a_writer_and_under_kills(client: Client, whole: IngotUp) -> None:
    async def shares() -> bool:
        return ((await client.get(NODES, NODE))["metadata"].get("annotations") or {}).get(SHARES_BLOCKS) == "true"

    await eventually(shares)
    await client.create(VOLUME_CLAIMS, a_claim(NAMESPACE, "disk"))
    writer = await reached(client, await client.create(PODS, a_user("writer", "disk", COUNTS)), "Running")
    await eventually(lambda: asyncio.to_thread(lambda: list(whole.directory.glob("volumes/pvc-*/disk.img"))))
    await client.create(SNAPSHOTS, a_snapshot("one"))
    await ready(client, "one")
    pid = await asyncio.to_thread(machine_of, whole)
    await client.create(SNAPSHOTS, a_snapshot("two"))
    os.kill(pid, signal.SIGKILL)
    await ready(client, "two")
    assert 0 < await held(client, "one") < await held(client, "two")
    found = await client.get(PODS, "writer", NAMESPACE)
    assert found["status"]["podIP"] == writer["status"]["podIP"] != "127.0.0.1"
    assert found["status"]["containerStatuses"][0]["restartCount"] == 0
