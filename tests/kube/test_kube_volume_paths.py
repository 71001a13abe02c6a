"""The paths of volumes (F3) on a real kubelet: there while the pod runs, the pod's own bytes, and gone with the pod."""

from __future__ import annotations

import asyncio
import shlex
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from eventual import eventually
from ingot.api.kubevirt.names import END_PIPE, PRIVATE_VOLUME
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import NAMESPACES, NODES, PODS, SERVICE_ACCOUNTS, VOLUME_CLAIMS
from ingot.control.launcher import launcher
from ingot.disks.endpoint import Block, File
from ingot.disks.kubelet import volume_path
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from ingot.node.launcher import let_go
from kube import box, storage
from kube.binaries import binaries
from kube.binaries import why_not as no_binaries
from kube.cluster import CONTROLLERS, ControlPlane
from kube.node import NODE_CONTROLLERS, RealNode
from kube.node import why_not as no_node
from kube.stage import SECONDS, Stage
from kube.traces import mounts

TEXT = "written by the pod"
WRITE_FILE = f"dd if=/dev/zero of=/v/disk.img bs=64k count=1 && echo {TEXT} | dd of=/v/disk.img conv=notrunc"
WRITE_DEVICE = f"echo {TEXT} | dd of=/v conv=notrunc,fsync"
# One program says on both sides which file and which device it is.
FILE_ID, DEVICE_ID = ["stat", "-L", "-c", "file %d:%i"], ["stat", "-L", "-c", "device %t:%T"]


@pytest.fixture(scope="module")
def node(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealNode]:
    """A cluster of one node, with drivers of volumes. Skips where it was not asked for, or cannot be."""
    if "kube" not in request.config.getoption("--servers").split(","):
        pytest.skip("real Kubernetes was not asked for: run `make test-kube`")
    for reason in (no_binaries() if binaries() is None else "", no_node(), storage.why_not()):
        if reason:
            pytest.skip(reason)
    directory = tmp_path_factory.mktemp("paths")
    with ControlPlane(directory / "cluster", controllers=(*CONTROLLERS, *NODE_CONTROLLERS)) as cluster:
        made = RealNode(cluster, directory / "node")
        storage.install_flex(made)
        with made, storage.csi(made):
            yield made


@pytest.fixture
async def stage(node: RealNode) -> AsyncIterator[Stage]:
    name = f"paths-{uuid4().hex[:8]}"
    async with Client.connect(load(node.cluster.kubeconfig), on_warning=lambda _: None) as client:
        await client.create(NAMESPACES, {"metadata": {"name": name}})
        await eventually(lambda: client.get(SERVICE_ACCOUNTS, "default", name), SECONDS)
        yield Stage(client, node, name)


def a_pod(namespace: str, volume: Object, script: str, **container: object) -> Object:
    """A pod with one volume, called `v`, that runs a script and stays."""
    command = ["sh", "-c", f"trap exit TERM; {script}; sleep 3600 & wait"]
    return {
        "metadata": {"name": "pod", "namespace": namespace},
        "spec": {
            "automountServiceAccountToken": False,
            "containers": [{"name": "main", "image": box.IMAGE, "command": command, **container}],
            "volumes": [{"name": "v", **volume}],
        },
    }


def writes_file(namespace: str, volume: Object) -> Object:
    script = f"{WRITE_FILE} && {shlex.join(FILE_ID)} /v/disk.img"
    return a_pod(namespace, volume, script, volumeMounts=[{"name": "v", "mountPath": "/v"}])


def writes_device(namespace: str, volume: Object) -> Object:
    script = f"{WRITE_DEVICE} && {shlex.join(DEVICE_ID)} /v"
    return a_pod(namespace, volume, script, volumeDevices=[{"name": "v", "devicePath": "/v"}])


def identity(command: list[str], path: Path) -> str:
    """What the pod's `stat` says of a path on the node."""
    return subprocess.run([box.BUSYBOX, *command, path], check=True, capture_output=True, text=True).stdout.strip()


CLAIM: Object = {"persistentVolumeClaim": {"claimName": "claim"}}
Source = Callable[[Path], Object]


@pytest.mark.parametrize("source", [storage.local, storage.flex, storage.csi_volume])
async def test_a_filesystem(stage: Stage, tmp_path: Path, source: Source) -> None:
    pv = await stage.volume(source(tmp_path))
    async with stage.running(writes_file(stage.namespace, CLAIM)) as pod:
        said = await stage.told(pod)
        path = volume_path(stage.node.root, uid_of(pod), pv)
        disk = path / "disk.img"
        assert mounts(stage.place(pod)) == [path]
        assert said == identity(FILE_ID, disk) == identity(FILE_ID, tmp_path / "disk.img")
        assert disk.read_bytes().startswith(TEXT.encode())
        endpoint = await stage.resolved(pod)
        assert isinstance(endpoint, File)
        assert endpoint.path == disk


@pytest.mark.parametrize("source", [storage.local, storage.csi_volume])
async def test_a_block_device(stage: Stage, tmp_path: Path, source: Source) -> None:
    with storage.loop(tmp_path / "disk") as device:
        pv = await stage.volume(source(device), "Block")
        async with stage.running(writes_device(stage.namespace, CLAIM)) as pod:
            said = await stage.told(pod)
            path = volume_path(stage.node.root, uid_of(pod), pv)
            assert stage.volumes(pod) == [path]
            assert said == identity(DEVICE_ID, path) == identity(DEVICE_ID, device)
            assert path.open("rb").read(len(TEXT)) == TEXT.encode()
            endpoint = await stage.resolved(pod)
            assert isinstance(endpoint, Block)
            assert identity(DEVICE_ID, endpoint.path) == said


async def test_a_host_path_stays_where_it_is(stage: Stage, tmp_path: Path) -> None:
    pv = await stage.volume(storage.host_path(tmp_path))
    async with stage.running(writes_file(stage.namespace, CLAIM)) as pod:
        said = await stage.told(pod)
        path = volume_path(stage.node.root, uid_of(pod), pv)
        assert said == identity(FILE_ID, path / "disk.img")
        assert not stage.traces(pod)
        endpoint = await stage.resolved(pod)
        assert isinstance(endpoint, File)
        assert endpoint.path == tmp_path / "disk.img"
    assert (tmp_path / "disk.img").read_bytes().startswith(TEXT.encode())


async def test_a_launcher_with_disks_is_let_go_by_the_pipe_in_its_private_directory(
    stage: Stage, tmp_path: Path
) -> None:
    pv = await stage.volume(storage.local(tmp_path))
    claim = await stage.client.get(VOLUME_CLAIMS, "claim", stage.namespace)
    (tmp_path / "disk.img").write_bytes(bytes(512))
    pod = launcher(an_instance(stage.namespace), {"disk": claim})
    await stage.client.patch(NODES, stage.node.name, {"metadata": {"labels": pod["spec"]["nodeSelector"]}})
    async with stage.running(pod) as made:
        private = stage.place(made) / "volumes/kubernetes.io~empty-dir" / PRIVATE_VOLUME
        await eventually(lambda: asyncio.to_thread(lambda: (private / END_PIPE).is_fifo()), SECONDS)
        endpoint = await stage.resolved(made)
        assert isinstance(endpoint, File)
        assert endpoint.path == volume_path(stage.node.root, uid_of(made), pv) / "disk.img"

        async def over() -> bool:
            # The launcher has made its pipe, and opens it a moment later.
            await asyncio.to_thread(let_go, stage.node.root, uid_of(made))
            found = await stage.client.get(PODS, name_of(made), stage.namespace)
            return bool(found["status"]["phase"] == "Succeeded")

        await eventually(over, SECONDS)


def an_instance(namespace: str) -> Object:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": "machine", "namespace": namespace, "uid": str(uuid4())},
        "spec": {
            "domain": {"devices": {"disks": [{"name": "disk"}]}, "memory": {"guest": "64Mi"}},
            "volumes": [{"name": "disk", **CLAIM}],
        },
    }
