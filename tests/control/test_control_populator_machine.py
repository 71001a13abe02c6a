"""Claims that are filled on one machine, with everything real: pods, volumes, a web server, and kills in the middle."""

import asyncio
import json
import math
import os
import random
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from control.population import annotations, worker_name
from eventual import eventually
from guest.servers.nginx import Nginx
from images.servers.limited import LimitedProxy
from ingot.api.cdi import names
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import (
    IMPORT_SOURCES,
    NAMESPACES,
    PODS,
    SECRETS,
    SERVICE_ACCOUNTS,
    STORAGE_CLASSES,
    VOLUME_CLAIMS,
    VOLUMES,
)
from ingot.images.pipeline.copier import WORKERS
from ingot.images.pipeline.plan import UNIT
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from ingot_up import IngotUp, processes_with
from kube.process import Process
from kube.server import INGOT
from machine.pod_support import a_bound_pod, a_container, reached

MIB = 1 << 20
SIZE, ROOM = 40 * MIB, 48 * MIB
# What is on its way when a worker is killed comes again.
UNDER_WAY = WORKERS * UNIT


class Lab:
    """A namespace of one machine, whose `ingot machine` a test may kill."""

    def __init__(self, server: IngotUp, client: Client, namespace: str) -> None:
        self.server, self.client, self.namespace = server, client, namespace
        self.machine = self._process()

    def _process(self) -> Process:
        command = [*INGOT, "machine", "--dir", str(self.server.directory), "--node-name", "lab"]
        return Process("ingot machine", command, self.server.directory / "test-machine.log")

    def kill_machine(self) -> None:
        os.kill(self.machine.pid, signal.SIGKILL)
        self.machine.__exit__(None, None, None)
        self.machine = self._process().__enter__()

    def workers(self) -> list[int]:
        directory = str(self.server.directory / "kubelet")
        return [pid for pid, command in processes_with(directory).items() if "worker import" in command]

    def kill_workers(self) -> None:
        """The program itself and not the shell around it, as a kernel without memory would."""
        for pid in self.workers():
            if not Path(f"/proc/{pid}/cmdline").read_bytes().startswith((b"/bin/sh", b"sh\0")):
                os.kill(pid, signal.SIGKILL)

    async def claim(self, name: str, *, immediate: bool = True, **source: Any) -> Object:
        spec = {"source": source}
        about = {"apiVersion": IMPORT_SOURCES.api_version, "kind": IMPORT_SOURCES.kind}
        metadata = {"name": name, "namespace": self.namespace}
        await self.client.create(IMPORT_SOURCES, {**about, "metadata": metadata, "spec": spec})
        reference = {"apiGroup": names.GROUP, "kind": IMPORT_SOURCES.kind, "name": name}
        wanted = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "48Mi"}},
            "storageClassName": "ingot-local",
            "dataSourceRef": reference,
        }
        notes = {names.IMMEDIATE: "true"} if immediate else {}
        return await self.client.create(VOLUME_CLAIMS, {"metadata": {**metadata, "annotations": notes}, "spec": wanted})

    async def get(self, claim: Object) -> Object:
        return await self.client.get(VOLUME_CLAIMS, name_of(claim), self.namespace)

    async def filled(self, claim: Object) -> Path:
        """Where the disk of the claim is, once it tells that it is filled; nothing else is left by then."""

        async def look() -> Object | None:
            found = await self.get(claim)
            assert names.FAILURE not in annotations(found), annotations(found)[names.FAILURE]
            return found if annotations(found).get(names.POD_PHASE) == "Succeeded" else None

        found = await eventually(look, 90)
        assert found["status"]["phase"] == "Bound"
        await eventually(lambda: self._is_tidy(claim))
        return self.server.directory / "volumes" / str(found["spec"]["volumeName"]) / names.DISK_NAME

    async def _is_tidy(self, claim: Object) -> bool:
        claims = (await self.client.list(VOLUME_CLAIMS, self.namespace))["items"]
        pods = (await self.client.list(PODS, self.namespace))["items"]
        ours = {names.prime_name(claim), worker_name(claim)}
        return not ours & {name_of(each) for each in (*claims, *pods)}

    async def moving(self, claim: Object, least: int) -> int:
        """How many bytes there are, once there are so many."""

        async def look() -> int:
            told = annotations(await self.get(claim)).get(names.PROGRESS)
            done = int(json.loads(told)["done"]) if told else 0
            return done if done >= least else 0

        return await eventually(look, 60)


class Listening(ThreadingHTTPServer):
    """Answers every request with a disk of sevens once `answers` is set; `heard` are the headers of all of them."""

    def __init__(self) -> None:
        self.heard: list[dict[str, str]] = []
        self.answers = threading.Event()
        self.answers.set()
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: Listening

    def do_HEAD(self) -> None:
        self._begin()

    def do_GET(self) -> None:
        self._begin()
        self.wfile.write(bytes([7]) * MIB)

    def _begin(self) -> None:
        self.server.heard.append(dict(self.headers))
        self.server.answers.wait(60)
        self.send_response(200)
        self.send_header("Content-Length", str(MIB))
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@pytest.fixture(scope="module")
def machine_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IngotUp]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INGOT_CACHE", str(tmp_path_factory.mktemp("cache")))
        with IngotUp(tmp_path_factory.mktemp("filling") / "d") as server:
            yield server


@pytest.fixture
async def lab(machine_server: IngotUp) -> AsyncIterator[Lab]:
    async with Client.connect(load(machine_server.kubeconfig), on_warning=lambda _: None) as client:
        made = await client.create(NAMESPACES, {"metadata": {"generateName": "filling-"}})
        namespace = str(made["metadata"]["name"])
        await eventually(lambda: client.get(SERVICE_ACCOUNTS, "default", namespace))
        lab = Lab(machine_server, client, namespace)
        with lab.machine:
            await eventually(lambda: client.get(STORAGE_CLASSES, "ingot-local"))
            try:
                yield lab
                await emptied(lab)
            finally:
                lab.machine.__exit__(None, None, None)


async def emptied(lab: Lab) -> None:
    """All claims are deleted, and nothing of them is left: no process, no volume, no file."""
    for kind in (PODS, VOLUME_CLAIMS):
        for each in (await lab.client.list(kind, lab.namespace))["items"]:
            if not name_of(each).startswith(names.PRIME_PREFIX):
                await lab.client.delete(kind, name_of(each), lab.namespace)

    async def look() -> bool:
        claims = (await lab.client.list(VOLUME_CLAIMS, lab.namespace))["items"]
        pods = (await lab.client.list(PODS, lab.namespace))["items"]
        volumes = (await lab.client.list(VOLUMES))["items"]
        kept = [each.name for each in (lab.server.directory / "volumes").iterdir() if each.name.startswith("pvc-")]
        return not (claims or pods or volumes or kept or lab.workers())

    await eventually(look)


@pytest.fixture(scope="module")
def disk() -> bytes:
    return random.Random(5).randbytes(SIZE)  # noqa: S311 - bytes, not secrets


@pytest.fixture(scope="module")
def web(disk: bytes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    files = tmp_path_factory.mktemp("web")
    (files / "disk.raw").write_bytes(disk)
    server = Nginx(files, "user", "word")
    if lacking := server.why_not():
        pytest.skip(lacking)
    with server:
        yield server


@pytest.fixture
def slow(web: Nginx) -> Iterator[LimitedProxy]:
    with LimitedProxy(web.http_port, 8 * MIB) as proxy:
        yield proxy


def url(proxy: LimitedProxy) -> str:
    return f"http://127.0.0.1:{proxy.port}/disk.raw"


async def test_a_blank_disk(lab: Lab) -> None:
    claim = await lab.claim("blank", blank={})
    found = await lab.filled(claim)
    assert [each.name for each in found.parent.iterdir()] == [names.DISK_NAME]
    assert found.stat().st_size == ROOM
    assert found.stat().st_blocks == 0
    volume = await lab.client.get(VOLUMES, found.parent.name)
    assert volume["spec"]["claimRef"]["uid"] == uid_of(claim)


async def test_a_disk_from_a_web_server(lab: Lab, web: Nginx, disk: bytes) -> None:
    found = await lab.filled(await lab.claim("web", http={"url": f"{web.http}/disk.raw"}))
    assert found.stat().st_size == ROOM
    assert found.read_bytes()[:SIZE] == disk
    assert [each.name for each in found.parent.iterdir()] == [names.DISK_NAME]


async def test_a_delayed_claim_is_filled_for_its_first_consumer(lab: Lab) -> None:
    claim = await lab.claim("late", immediate=False, blank={})

    async def waits() -> bool:
        return annotations(await lab.get(claim)).get(names.RUNNING_REASON) == "WaitForFirstConsumer"

    await eventually(waits)
    script = "test $(stat -c %s /v/disk.img) = 50331648"
    pod = a_bound_pod(lab.namespace, "consumer", a_container(script, volumeMounts=[{"name": "v", "mountPath": "/v"}]))
    del pod["spec"]["nodeName"]
    pod["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "late"}}]
    made = await lab.client.create(PODS, pod)
    await lab.filled(claim)
    await reached(lab.client, made, "Succeeded")


@pytest.mark.parametrize("harm", [Lab.kill_workers, Lab.kill_machine])
async def test_a_kill_in_the_middle_loses_nothing_that_has_come(
    lab: Lab, slow: LimitedProxy, disk: bytes, harm: Callable[[Lab], None]
) -> None:
    # It must not end before the harm is done.
    slow.hold_after(SIZE // 2)
    claim = await lab.claim("tough", http={"url": url(slow)})
    await lab.moving(claim, SIZE // 4)
    await asyncio.to_thread(harm, lab)
    slow.hold_after(math.inf)
    found = await lab.filled(claim)
    assert found.read_bytes()[:SIZE] == disk
    assert slow.sent < SIZE + UNDER_WAY + 6 * MIB, "what had come was not fetched again"
    if harm is Lab.kill_workers:
        assert annotations(await lab.get(claim))[names.POD_RESTARTS] == "1"


async def test_a_claim_that_is_deleted_in_the_middle_leaves_nothing(lab: Lab, slow: LimitedProxy) -> None:
    claim = await lab.claim("gone", http={"url": url(slow)})
    await lab.moving(claim, MIB)
    await lab.client.delete(VOLUME_CLAIMS, "gone", lab.namespace)
    await emptied(lab)


async def test_a_prime_that_is_deleted_in_the_middle_is_made_anew(lab: Lab, slow: LimitedProxy, disk: bytes) -> None:
    claim = await lab.claim("stubborn", http={"url": url(slow)})
    await lab.moving(claim, MIB)
    await lab.client.delete(VOLUME_CLAIMS, names.prime_name(claim), lab.namespace)
    found = await lab.filled(claim)
    assert found.read_bytes()[:SIZE] == disk


@pytest.fixture
def listening() -> Iterator[Listening]:
    server = Listening()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


async def test_headers_come_from_the_source_and_from_secrets_and_are_in_no_command_line(
    lab: Lab, listening: Listening
) -> None:
    words = {"one": "X-Secret: of nobody"}
    metadata = {"name": "headers", "namespace": lab.namespace}
    address = f"http://127.0.0.1:{listening.server_port}/disk?signature=5577"
    source = {"url": address, "extraHeaders": ["X-Plain: of all"], "secretExtraHeaders": ["headers"]}
    claim = await lab.claim("headed", http=source)

    async def waits() -> bool:
        told = annotations(await lab.get(claim))
        return f"Secret {lab.namespace}/headers is not there" in told.get(names.RUNNING_MESSAGE, "")

    await eventually(waits)
    listening.answers.clear()
    await lab.client.create(SECRETS, {"metadata": metadata, "stringData": words})

    async def asked() -> bool:
        return bool(listening.heard)

    await eventually(asked)
    seen = [command for command in processes_with(str(lab.server.directory)).values() if "worker import" in command]
    assert seen, "it waits for its answer"
    assert not [each for each in seen if "of nobody" in each or "of all" in each or "5577" in each]
    listening.answers.set()
    found = await lab.filled(claim)
    assert found.read_bytes()[:MIB] == bytes([7]) * MIB
    for headers in listening.heard:
        assert headers.get("X-Plain") == "of all"
        assert headers.get("X-Secret") == "of nobody"
