"""Worker pods under a real kubelet (G1): made by controllers that are pods themselves, with the rights of their role
and no more, in a namespace where Pod Security enforces `restricted`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from uuid import uuid4

import pytest

from eventual import eventually
from guest.servers.certificates import Certificates
from guest.servers.nginx import Nginx
from images.servers.gate import Gate
from images.servers.limited import LimitedProxy
from images.servers.registry import DockerRegistry
from ingot.api.object import Object
from ingot.api.resources import (
    CDI_CONFIGS,
    CONFIG_MAPS,
    DATA_IMPORT_CRONS,
    DATA_SOURCES,
    DATA_VOLUMES,
    HYPERCONVERGEDS,
    LEASES,
    NAMESPACES,
    PODS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
    SSPS,
    TEMPLATES,
    UPLOAD_TOKEN_REQUESTS,
    VOLUME_CLAIMS,
)
from ingot.api.status import ApiError
from ingot.images.disk import open_disk
from ingot.images.push import PushOptions, push_disk
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.settings import Settings
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from ingot.kube.objects import condition
from ingot.web.cluster.gateway import SERVICE
from kube.desk import ROOM, SECONDS, Desk
from kube.installation import DEPLOYMENT, GATEWAY, NAMESPACE, Installation, installed, why_not
from kube.provisioner import AT_ONCE, provisioning
from kube.traces import pod_processes
from uploads.curl import Answer, curl
from volumes.shelf import phase, volume
from volumes.wares import MIB, sparse_bytes

# The fourth try comes 70 s after the first: the kubelet waits longer each time.
FINAL_SECONDS = 110.0
SIZE, SLOW, RATE = 16 * MIB, 32 * MIB, 8 * MIB
USER, PASSWORD = "reader", "of disks"


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A cluster of one node, with Ingot. Skips where it was not asked for, or cannot be."""
    if "kube" not in request.config.getoption("--servers").split(","):
        pytest.skip("real Kubernetes was not asked for: run `make test-kube`")
    if reason := why_not() or Nginx.why_not() or DockerRegistry.why_not():
        pytest.skip(reason)
    with installed(tmp_path_factory.mktemp("workers")) as found:
        yield found


@pytest.fixture(scope="module")
def wares(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What servers show: a disk with holes, and one without."""
    directory = tmp_path_factory.mktemp("wares")
    (directory / "disk.raw").write_bytes(sparse_bytes(SIZE, 1))
    (directory / "slow.raw").write_bytes(random.Random(2).randbytes(SLOW))  # noqa: S311 - the same bytes every time
    return directory


@pytest.fixture(scope="module")
def web(wares: Path) -> Iterator[Nginx]:
    with Nginx(wares, USER, PASSWORD) as server:
        yield server


@pytest.fixture
async def desk(cluster: Installation) -> AsyncIterator[Desk]:
    """A namespace where Pod Security refuses every pod that is not `restricted`."""
    name = f"workers-{uuid4().hex[:8]}"
    async with (
        Client.connect(load(cluster.kubeconfig), on_warning=lambda _: None) as client,
        provisioning(client, cluster.node.name, cluster.room),
    ):
        labels = {"pod-security.kubernetes.io/enforce": "restricted"}
        await client.create(NAMESPACES, {"metadata": {"name": name, "labels": labels}})
        await eventually(lambda: client.get(SERVICE_ACCOUNTS, "default", name), SECONDS)
        yield Desk(client, cluster, name)


def worker_process() -> int:
    """The one process on the node that imports."""
    found = [pid for pid in pod_processes() if b"\0worker\0import\0" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert len(found) == 1, found
    return found[0]


async def test_a_disk_of_a_web_server_with_its_secrets(desk: Desk, web: Nginx, wares: Path) -> None:
    """Authorities, a password and headers are read by a worker that is not root, and its file is QEMU's."""
    certificates = Certificates(desk.cluster.node.address)
    (web.directory / "server-cert.pem").write_text("")
    certificates.write_server(web.directory)
    os.kill(web.process.pid, signal.SIGHUP)
    await desk.create(SECRETS, "login", stringData={"accessKeyId": USER, "secretKey": PASSWORD})
    await desk.create(CONFIG_MAPS, "authority", data={"ca.pem": certificates.authority})
    with Gate(web.https_port, desk.cluster.node.address) as door:
        given = {"url": f"https://{door.host}/private/disk.raw", "secretRef": "login", "certConfigMap": "authority"}
        await desk.make("disk", {"http": {**given, "extraHeaders": ["X-Of: test"]}})
        told = await desk.filled("disk")
    assert told["status"]["progress"] == "100.0%"
    assert await desk.content("disk", SIZE) == (wares / "disk.raw").read_bytes()
    found = (await desk.place("disk")).stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (107, 107, 0o660)
    assert found.st_blocks * 512 < SIZE, "holes stay holes"


async def test_a_worker_that_is_killed_goes_on_where_it_was_and_tells_how_far_it_is(
    desk: Desk, web: Nginx, wares: Path
) -> None:
    with LimitedProxy(web.http_port, RATE) as slow, Gate(slow.port, desk.cluster.node.address) as door:
        await desk.make("disk", {"http": {"url": f"http://{door.host}/slow.raw"}})
        moving = await desk.until("disk", lambda each: _done(each) >= SLOW // 4)
        assert moving["status"]["transfer"]["total"] == SLOW
        assert phase(moving) == "ImportInProgress"
        await asyncio.to_thread(lambda: os.kill(worker_process(), signal.SIGKILL))
        told = await desk.filled("disk")
        assert slow.sent < SLOW * 3 // 2, "it has not begun anew"
    assert told["status"]["restartCount"] == 1
    assert await desk.content("disk", SLOW) == (wares / "slow.raw").read_bytes()


def _done(found: Object) -> int:
    return int(((found.get("status") or {}).get("transfer") or {}).get("done", 0))


@asynccontextmanager
async def in_registry(desk: Desk, file: Path, scratch: Path) -> AsyncIterator[Object]:
    """A disk in a registry with TLS for the length of the block, as the source of a DataVolume."""
    certificates = Certificates(desk.cluster.node.address)
    trusted = scratch / "ca.pem"
    await asyncio.to_thread(trusted.write_text, certificates.authority)
    await desk.create(CONFIG_MAPS, "authority", data={"ca.pem": certificates.authority})
    with DockerRegistry(tls=certificates) as server, Gate(server.port, desk.cluster.node.address) as door:
        reference = Reference.parse(f"{door.host}/test/disk:v1")
        with closing(open_disk(file)) as disk, Registry(Settings(ca=trusted)) as registry:
            await asyncio.to_thread(push_disk, registry, disk, reference, PushOptions())
        yield {"registry": {"url": f"docker://{reference}", "certConfigMap": "authority"}}


@pytest.mark.parametrize("mode", ["Filesystem", "Block"])
async def test_a_disk_of_a_registry(desk: Desk, wares: Path, mode: str, tmp_path: Path) -> None:
    """The device of a Block claim is the worker's own, though it is not root."""
    async with in_registry(desk, wares / "disk.raw", tmp_path) as source:
        await desk.make("disk", source, AT_ONCE, volumeMode=mode)
        await desk.filled("disk")
    assert (await desk.place("disk")).is_block_device() == (mode == "Block")
    assert await desk.content("disk", SIZE) == (wares / "disk.raw").read_bytes()


async def test_a_blank_disk_and_a_copy_of_it(desk: Desk) -> None:
    """From a file to a device, by a pod: neither storage can clone."""
    await desk.make("blank", {"blank": {}})
    await desk.filled("blank")
    written = sparse_bytes(SIZE, 3)
    with (await desk.place("blank")).open("r+b") as file:
        file.write(written)
    await desk.make("copy", {"pvc": {"name": "blank", "namespace": desk.namespace}})
    # The claim of a file is larger than the file, and a clone never smaller than what it is of.
    source = {"pvc": {"name": "blank", "namespace": desk.namespace}}
    await desk.make("device", source, AT_ONCE, "80Mi", volumeMode="Block")
    for name in ("copy", "device"):
        await desk.filled(name)
        assert await desk.content(name, SIZE) == written
    claim = await desk.client.get(VOLUME_CLAIMS, "copy", desk.namespace)
    assert claim["metadata"]["annotations"]["cdi.kubevirt.io/cloneType"] == "copy"


async def test_an_upload_with_a_token_of_the_cluster(desk: Desk, wares: Path, tmp_path: Path) -> None:
    """As `virtctl image-upload` does it (B8): the token comes by the aggregator, for who may create requests."""
    await desk.make("disk", {"upload": {}})
    await desk.until("disk", lambda each: phase(each) == "UploadReady")
    config = await desk.client.get(CDI_CONFIGS, "config")
    url = f"https://{config['status']['uploadProxyURL']}/v1beta1/upload"
    trust = tmp_path / "ca.pem"
    trust.write_text(config["status"]["uploadProxyCA"])
    way = f"{SERVICE}:443:{await desk.gateway()}:8443"

    def send(word: str) -> Answer:
        return curl(url, word, "--connect-to", way, "--upload-file", str(wares / "disk.raw"), trust=trust)

    token = (await desk.token("disk"))["status"]["token"]
    refused = await asyncio.to_thread(send, token[:-2] + "xx")
    assert refused.code == 401, refused
    sent = await asyncio.to_thread(send, token)
    assert (sent.code, sent.exit) == (200, 0), sent
    await desk.filled("disk")
    assert await desk.content("disk", SIZE) == (wares / "disk.raw").read_bytes()
    again = await asyncio.to_thread(send, token)
    assert again.code == 401, "it is good for one upload"


async def test_tokens_are_for_those_who_may_have_them(desk: Desk) -> None:
    """The rights are those of the user who asks, and nobody speaks for users but the API server."""
    await desk.make("disk", {"upload": {}})
    await desk.until("disk", lambda each: phase(each) == "UploadReady")
    async with Client.connect(desk.cluster.node.cluster.credentials.config("jane")) as jane:
        with pytest.raises(ApiError) as denied:
            await desk.token("disk", jane)
        assert denied.value.code == 403
        role = {"apiGroup": ROLE_BINDINGS.group, "kind": "ClusterRole", "name": "edit"}
        await desk.create(ROLE_BINDINGS, "editors", roleRef=role, subjects=[{"kind": "User", "name": "jane"}])

        async def granted() -> bool:
            """The API server hears of a new right a moment later."""
            with contextlib.suppress(ApiError):
                return bool((await desk.token("disk", jane))["status"]["token"])
            return False

        await eventually(granted, SECONDS)
    direct = f"https://{await desk.gateway()}:9443{UPLOAD_TOKEN_REQUESTS.path(desk.namespace)}"
    spoof = await asyncio.to_thread(curl, direct, "any", "--header", "X-Remote-User: admin", "--data", "{}")
    assert spoof.code == 401, spoof


async def test_the_size_of_a_disk_is_looked_for_by_a_pod(desk: Desk, web: Nginx) -> None:
    with Gate(web.http_port, desk.cluster.node.address) as door:
        wanted = volume("disk", {"http": {"url": f"http://{door.host}/disk.raw"}})
        wanted["spec"]["storage"] = {"storageClassName": AT_ONCE, "accessModes": ["ReadWriteOnce"]}
        wanted["metadata"]["namespace"] = desk.namespace
        await desk.client.create(DATA_VOLUMES, wanted)
        await desk.filled("disk")
    assert (await desk.place("disk")).stat().st_size >= SIZE


async def test_what_is_not_there_is_failed_in_the_end(desk: Desk, web: Nginx) -> None:
    with Gate(web.http_port, desk.cluster.node.address) as door:
        await desk.make("disk", {"http": {"url": f"http://{door.host}/nothing.raw"}})
        failed = await desk.until("disk", lambda each: phase(each) == "Failed", FINAL_SECONDS)
    message = str((condition(failed, "Running") or {}).get("message"))
    assert "it is not there" in message
    assert "final" in message

    async def gone() -> bool:
        return not await desk.pods()

    await eventually(gone, SECONDS)


async def test_a_golden_image_is_imported_and_served(desk: Desk, wares: Path, tmp_path: Path) -> None:
    """By a cron whose registry the controllers ask themselves (G3)."""
    storage = {
        "storageClassName": AT_ONCE,
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": ROOM}},
    }
    async with in_registry(desk, wares / "disk.raw", tmp_path) as source:
        template = {"spec": {"source": source, "storage": storage}}
        spec = {"template": template, "schedule": "0 */12 * * *", "managedDataSource": "golden"}
        await desk.create(DATA_IMPORT_CRONS, "golden", spec=spec)
        link = await desk.ready(DATA_SOURCES, "golden")
    assert await desk.content(link["spec"]["source"]["pvc"]["name"], SIZE) == (wares / "disk.raw").read_bytes()


async def test_common_templates_and_their_images_are_put_into_the_cluster(desk: Desk) -> None:
    """HyperConverged hands them on to its SSP, which opens golden images to everybody (G5, G6, G10)."""
    wanted = {"enableCommonBootImageImport": False, "commonTemplatesNamespace": desk.namespace}
    await desk.create(HYPERCONVERGEDS, "hco", spec=wanted)

    async def deployed() -> bool:
        found = (await desk.client.list(SSPS, desk.namespace))["items"]
        return any((each.get("status") or {}).get("phase") == "Deployed" for each in found)

    await eventually(deployed, SECONDS)
    assert (await desk.client.list(TEMPLATES, desk.namespace))["items"]
    assert (await desk.client.list(DATA_SOURCES, "golden-images"))["items"]
    assert (await desk.client.list(ROLES, "golden-images"))["items"]
    await desk.client.delete(HYPERCONVERGEDS, "hco", desk.namespace)

    async def gone() -> bool:
        return not (await desk.client.list(SSPS, desk.namespace))["items"]

    await eventually(gone, SECONDS)


async def test_another_leads_when_the_leader_goes(desk: Desk) -> None:
    lease = await desk.client.get(LEASES, DEPLOYMENT, NAMESPACE)
    leader = lease["spec"]["holderIdentity"].partition("_")[0]
    await desk.client.delete(PODS, leader, NAMESPACE)

    async def handed_on() -> bool:
        found = await desk.client.get(LEASES, DEPLOYMENT, NAMESPACE)
        return not found["spec"]["holderIdentity"].startswith((leader, "_")) and bool(found["spec"]["holderIdentity"])

    await eventually(handed_on, SECONDS)
    await desk.make("blank", {"blank": {}})
    await desk.filled("blank")


@pytest.mark.parametrize("deployment", [DEPLOYMENT, GATEWAY])
def test_nobody_has_refused_them_anything(cluster: Installation, deployment: str) -> None:
    """Their roles have every right that they asked for in this module."""
    said = cluster.said(deployment)
    assert "INFO" in said
    assert "forbidden" not in said.lower(), [line for line in said.splitlines() if "orbidden" in line][:5]
