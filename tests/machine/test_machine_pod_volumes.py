"""The volumes of pods: what is in them, who may read them, and that nothing of them stays."""

import asyncio
import base64
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from eventual import eventually
from ingot.api.object import Object
from ingot.api.resources import CONFIG_MAPS, PODS, SECRETS, VOLUME_CLAIMS, VOLUMES
from ingot.kube.client import Client
from ingot.standalone.pods.mounts import mounted_below
from ingot.standalone.pods.runner import PodRunner
from machine.machine_support import a_claim, a_volume, events_of, running
from machine.pod_support import NODE, a_bound_pod, a_container, directory_of, gone, log_of, reached


@pytest.fixture
def kubelet(tmp_path: Path) -> Path:
    return tmp_path / "kubelet"


@pytest.fixture(autouse=True)
async def runner(client: Client, kubelet: Path) -> AsyncIterator[None]:
    async with running(client, lambda manager: PodRunner(manager, NODE, kubelet)):
        yield
        for pod in (await client.list(PODS))["items"]:
            await client.delete(PODS, pod["metadata"]["name"], pod["metadata"]["namespace"], grace_period=0)
        await eventually(lambda: asyncio.to_thread(lambda: not list((kubelet / "pods").glob("*"))))


def mounted(script: str, volume: Object) -> Object:
    """A pod's containers and volumes: one of each, mounted at /v."""
    return {
        "containers": [a_container(script, volumeMounts=[{"name": "v", "mountPath": "/v"}])],
        "volumes": [{"name": "v", **volume}],
    }


async def output(client: Client, kubelet: Path, namespace: str, script: str, volume: Object) -> str:
    """What a pod prints that runs the script with the volume at /v."""
    pod = await client.create(PODS, a_bound_pod(namespace, "p", **mounted(script, volume)))
    await reached(client, pod, "Succeeded")
    return log_of(kubelet, pod)


async def test_secrets_are_read_by_the_pod_alone_and_do_not_outlive_it(
    client: Client, namespace: str, kubelet: Path
) -> None:
    secret = {"metadata": {"name": "s", "namespace": namespace}, "data": {"key": base64.b64encode(b"hush").decode()}}
    await client.create(SECRETS, secret)
    pod = await client.create(
        PODS, a_bound_pod(namespace, "p", **mounted("cat /v/key; sleep 60", {"secret": {"secretName": "s"}}))
    )
    await reached(client, pod, "Running")
    place = directory_of(kubelet, pod) / "volumes/kubernetes.io~secret/v"
    assert (place / "key").read_bytes() == b"hush"
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert stat.S_IMODE((place / "key").stat().st_mode) == 0o600
    await client.delete(PODS, "p", namespace)
    await gone(client, pod)
    assert not directory_of(kubelet, pod).exists()


async def test_a_pod_that_is_over_keeps_its_log_and_no_secret(client: Client, namespace: str, kubelet: Path) -> None:
    secret = {"metadata": {"name": "s", "namespace": namespace}, "data": {"key": base64.b64encode(b"hush").decode()}}
    await client.create(SECRETS, secret)
    pod = await client.create(
        PODS, a_bound_pod(namespace, "p", **mounted("test -e /v/key", {"secret": {"secretName": "s"}}))
    )
    await reached(client, pod, "Succeeded")
    await eventually(lambda: asyncio.to_thread(lambda: not (directory_of(kubelet, pod) / "volumes").exists()))
    assert (directory_of(kubelet, pod) / "containers").exists()


async def test_a_pod_waits_for_its_config_map_and_starts_by_itself(
    client: Client, namespace: str, kubelet: Path
) -> None:
    volume = {"configMap": {"name": "late", "items": [{"key": "a", "path": "sub/file"}]}}
    pod = await client.create(PODS, a_bound_pod(namespace, "p", **mounted("cat /v/sub/file", volume)))
    [message] = await eventually(lambda: events_of(client, pod, "FailedMount"))
    assert message == f"volume 'v': ConfigMap {namespace}/late is not there; create it"
    await client.create(CONFIG_MAPS, {"metadata": {"name": "late", "namespace": namespace}, "data": {"a": "now"}})
    await reached(client, pod, "Succeeded")
    assert log_of(kubelet, pod) == "now"


async def test_a_projected_volume_has_a_token_that_the_server_knows(
    client: Client, namespace: str, kubelet: Path
) -> None:
    sources = [
        {"serviceAccountToken": {"path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt"}},
        {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    ]
    script = "cut -c1-3 /v/token; head -c 10 /v/ca.crt; echo; cat /v/name"
    text = await output(client, kubelet, namespace, script, {"projected": {"sources": sources}})
    assert text == "eyJ\n-----BEGIN\np"


async def test_a_claim_of_a_local_volume_is_a_link_where_a_kubelet_has_it(
    client: Client, namespace: str, kubelet: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "file").write_text("mine")
    volume = a_volume("pv-local", local={"path": str(data)}, nodeAffinity=affinity())
    del volume["spec"]["hostPath"]
    await client.create(VOLUMES, volume)
    claim = await client.create(VOLUME_CLAIMS, a_claim(namespace, "c", storageClassName="", volumeName="pv-local"))
    source = {"persistentVolumeClaim": {"claimName": "c"}}
    pod = await client.create(PODS, a_bound_pod(namespace, "p", **mounted("cat /v/file; sleep 60", source)))
    [message] = await eventually(lambda: events_of(client, pod, "FailedMount"))
    assert message == f"volume 'v': PersistentVolumeClaim {namespace}/c is not bound yet; waiting for that"
    await bound(client, claim)
    await reached(client, pod, "Running")
    link = directory_of(kubelet, pod) / "volumes/kubernetes.io~local-volume/pv-local"
    assert link.readlink() == data
    await client.delete(PODS, "p", namespace)
    await gone(client, pod)
    assert (data / "file").read_text() == "mine"
    await client.delete(VOLUMES, "pv-local")


async def bound(client: Client, claim: Object, holder: Object | None = None) -> None:
    """The claim is said to be bound, and its volume to be that of `holder`: its own, if not another's."""
    metadata = (holder or claim)["metadata"]
    reference = {key: metadata[key] for key in ("namespace", "name", "uid")}
    await client.patch(VOLUMES, claim["spec"]["volumeName"], {"spec": {"claimRef": reference}})
    status = {"status": {"phase": "Bound"}}
    await client.patch(
        VOLUME_CLAIMS, claim["metadata"]["name"], status, claim["metadata"]["namespace"], subresource="status"
    )


async def test_the_volume_of_another_claim_is_not_given_to_a_pod(client: Client, namespace: str) -> None:
    await client.create(VOLUMES, a_volume("pv-other"))
    holder = await client.create(
        VOLUME_CLAIMS, a_claim(namespace, "holder", storageClassName="", volumeName="pv-other")
    )
    claim = await client.create(VOLUME_CLAIMS, a_claim(namespace, "c", storageClassName="", volumeName="pv-other"))
    await bound(client, claim, holder)
    source = {"persistentVolumeClaim": {"claimName": "c"}}
    pod = await client.create(PODS, a_bound_pod(namespace, "p", **mounted("true", source)))
    messages = await eventually(lambda: events_of(client, pod, "FailedMount"))
    assert (
        f"PersistentVolumeClaim {namespace}/c names PersistentVolume pv-other, which is another claim's" in messages[0]
    )
    await client.delete(VOLUMES, "pv-other")


def affinity() -> Object:
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [NODE]}]}
    return {"required": {"nodeSelectorTerms": [term]}}


async def test_a_network_volume_that_cannot_be_mounted_says_what_would_help(client: Client, namespace: str) -> None:
    iscsi = {"targetPortal": "127.0.0.1:3260", "iqn": "iqn.2026-01.example:x", "lun": 1}
    volume = a_volume("pv-iscsi", iscsi=iscsi)
    del volume["spec"]["hostPath"]
    await client.create(VOLUMES, volume)
    claim = await client.create(VOLUME_CLAIMS, a_claim(namespace, "c", storageClassName="", volumeName="pv-iscsi"))
    await bound(client, claim)
    source = {"persistentVolumeClaim": {"claimName": "c"}}
    pod = await client.create(PODS, a_bound_pod(namespace, "p", **mounted("true", source)))
    messages = await eventually(lambda: events_of(client, pod, "FailedMount"))
    assert "'pv-iscsi': a filesystem volume of iscsi cannot be attached on one machine; give the VM's" in messages[0]
    await client.delete(VOLUMES, "pv-iscsi")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a tmpfs")
async def test_an_empty_directory_in_memory_is_unmounted_with_its_pod(
    client: Client, namespace: str, kubelet: Path
) -> None:
    volume = {"emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}
    pod = await client.create(PODS, a_bound_pod(namespace, "p", **mounted("df -P /v; sleep 60", volume)))
    await reached(client, pod, "Running")
    await eventually(lambda: asyncio.to_thread(lambda: "tmpfs" in log_of(kubelet, pod)))
    await client.delete(PODS, "p", namespace)
    await gone(client, pod)
    assert not mounted_below(kubelet)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a tmpfs")
async def test_a_pod_whose_volume_is_in_use_is_told_of_and_goes_when_it_can(
    client: Client, namespace: str, kubelet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingot.standalone.pods.runner.UNMOUNT_SECONDS", 0.1)
    volume = {"emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}
    script = "echo stays > /v/file; sleep 60"
    pod = await client.create(PODS, a_bound_pod(namespace, "p", **mounted(script, volume)))
    file = directory_of(kubelet, pod) / "volumes" / "kubernetes.io~empty-dir" / "v" / "file"
    await eventually(lambda: asyncio.to_thread(file.exists))
    with file.open():
        await client.delete(PODS, "p", namespace)
        [message] = await eventually(lambda: events_of(client, pod, "FailedUnMount"))
        assert str(file.parent) in message
        assert message.endswith("; nothing in it is touched, and it is tried again")
        assert file.read_text() == "stays\n"
    await gone(client, pod)
    assert not mounted_below(kubelet)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a container as another user")
async def test_a_container_runs_as_the_user_that_it_asks_for(client: Client, namespace: str, kubelet: Path) -> None:
    # The directories of pytest are closed to other users.
    for place in (kubelet.parent, *kubelet.parents):
        if place.is_relative_to("/tmp") and place != Path("/tmp"):  # noqa: S108 - where pytest puts its directories
            place.chmod(place.stat().st_mode | 0o011)
    spec = mounted("id -u; id -g; echo x > /v/file", {"emptyDir": {}})
    pod = await client.create(
        PODS, a_bound_pod(namespace, "p", **spec, securityContext={"runAsUser": 4321, "runAsGroup": 1234})
    )
    await reached(client, pod, "Succeeded")
    assert log_of(kubelet, pod) == "4321\n1234\n"
