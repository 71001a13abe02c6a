"""Containers of foreign images, through a real podman with an image made on the spot."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from eventual import eventually
from ingot.api.object import Object
from ingot.api.resources import PODS
from ingot.kube.client import Client
from ingot.standalone.pods import oci
from ingot.standalone.pods.fault import PodFault
from ingot.standalone.pods.runner import PodRunner
from machine.machine_support import running
from machine.pod_support import NODE, a_bound_pod, gone, log_of, reached, waiting

BUSYBOX = Path("/bin/busybox")
IMAGE = "localhost/ingot-test-busybox:1"
needs_podman = pytest.mark.skipif(
    not (
        shutil.which("podman") and any(map(shutil.which, ("crun", "runc"))) and BUSYBOX.exists() and os.geteuid() == 0
    ),
    reason="needs root, podman, crun or runc, and busybox-static",
)


@pytest.fixture
def kubelet(tmp_path: Path) -> Path:
    return tmp_path / "kubelet"


@pytest.fixture
async def runner(client: Client, kubelet: Path) -> AsyncIterator[None]:
    async with running(client, lambda manager: PodRunner(manager, NODE, kubelet)):
        yield
        for pod in (await client.list(PODS))["items"]:
            await client.delete(PODS, pod["metadata"]["name"], pod["metadata"]["namespace"], grace_period=0)
        await eventually(lambda: asyncio.to_thread(lambda: not list((kubelet / "pods").glob("*"))))


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = tmp_path_factory.mktemp("image")
    (root / "bin").mkdir()
    shutil.copy(BUSYBOX, root / "bin")
    for name in ("sh", "echo", "sleep", "cat", "id", "env", "test"):
        (root / "bin" / name).symlink_to("busybox")
    archive = shutil.make_archive(str(root.with_suffix("")), "tar", root)
    subprocess.run([*oci.podman(), "import", "--quiet", archive, IMAGE], check=True, capture_output=True)
    yield IMAGE
    subprocess.run([*oci.podman(), "rmi", "--force", IMAGE], check=True, capture_output=True)


def a_foreign(script: str, image: str, **fields: object) -> Object:
    return {
        "name": "main",
        "image": image,
        "command": ["/bin/sh", "-c", script],
        "imagePullPolicy": "Never",
        **fields,
    }


def containers_of(pod: Object) -> str:
    listing = [*oci.podman(), "ps", "--all", "--noheading", "--filter", f"name=ingot-{pod['metadata']['uid']}"]
    return subprocess.run(listing, check=True, capture_output=True, text=True).stdout


@needs_podman
@pytest.mark.usefixtures("runner")
async def test_a_foreign_image_runs_with_its_volumes_its_user_and_its_environment(
    client: Client, namespace: str, kubelet: Path, image: str
) -> None:
    script = "id -u; cat /v/in; echo $WORD $HOME; echo last > /dev/termination-log; test -e /bin/bash || exit 6"
    container = a_foreign(
        script,
        image,
        env=[{"name": "WORD", "value": "one two"}, {"name": "HOME", "value": "/v"}],
        volumeMounts=[{"name": "v", "mountPath": "/v"}],
        securityContext={"runAsUser": 0},
    )
    init = a_foreign("echo from init > /v/in", image, volumeMounts=[{"name": "v", "mountPath": "/v"}])
    pod = await client.create(
        PODS,
        a_bound_pod(
            namespace,
            "p",
            container,
            initContainers=[{**init, "name": "first"}],
            volumes=[{"name": "v", "emptyDir": {}}],
        ),
    )
    found = await reached(client, pod, "Failed")
    state = found["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (state["exitCode"], state["message"]) == (6, "last\n")
    assert log_of(kubelet, pod) == "0\nfrom init\none two /v\n"
    assert containers_of(pod) == ""


@needs_podman
@pytest.mark.usefixtures("runner")
async def test_a_foreign_container_that_ignores_sigterm_is_killed_and_leaves_nothing(
    client: Client, namespace: str, image: str
) -> None:
    container = a_foreign('trap "" TERM; while :; do sleep 1; done', image)
    pod = await client.create(PODS, a_bound_pod(namespace, "p", container))
    await reached(client, pod, "Running")
    await eventually(lambda: asyncio.to_thread(lambda: containers_of(pod) != ""))
    await client.delete(PODS, "p", namespace)
    await gone(client, pod)
    assert containers_of(pod) == ""


@needs_podman
@pytest.mark.usefixtures("runner")
async def test_an_image_that_is_not_there_is_told(client: Client, namespace: str) -> None:
    pod = await client.create(PODS, a_bound_pod(namespace, "p", a_foreign("true", "localhost/none:1")))
    message = await waiting(client, pod, "ErrImageNeverPull")
    assert message.startswith("image localhost/none:1 is not on this machine and imagePullPolicy is Never")


def test_without_podman_the_cure_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PodFault, match="apt-get install podman") as caught:
        oci.podman()
    assert caught.value.reason == "RunContainerError"
