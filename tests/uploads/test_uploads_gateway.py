"""The gateway of a cluster (B8): whom it gives tokens, and how it keeps its papers. The API server is Ingot's own; the
one that passes requests on is the test. tests/kube has the same behind a real aggregator."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import trustme

from eventual import eventually
from ingot.api.kubevirt.names import SYSTEM_NAMESPACE
from ingot.api.object import Object
from ingot.api.resources import (
    API_SERVICES,
    CDI_CONFIGS,
    CONFIG_MAPS,
    NAMESPACES,
    SECRETS,
    UPLOAD_TOKEN_REQUESTS,
    VOLUME_CLAIMS,
)
from ingot.api.status import ApiError
from ingot.kube import frontproxy
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from ingot.web.cluster import bundles, keeper
from ingot.web.cluster.gateway import Gateway, Ports
from ingot_up import IngotUp
from kube.cluster import free_ports
from kube.server import INGOT
from kube.webhooks import CRDS

FRONT = "front"
USER = {"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}
CLAIM: Object = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "disk", "namespace": "default", "annotations": {"cdi.kubevirt.io/storage.upload.target": ""}},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
REQUEST = {"spec": {"pvcName": "disk"}}
# No other server is behind that of one machine; here it stores what it is told of them.
API_SERVICES_CRD: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "apiservices.apiregistration.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
    },
    "spec": {
        "group": API_SERVICES.group,
        "scope": "Cluster",
        "names": {"plural": API_SERVICES.plural, "singular": "apiservice", "kind": API_SERVICES.kind},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IngotUp]:
    with IngotUp(tmp_path_factory.mktemp("gateway") / "d") as made:
        yield made


class Front:
    """What passes requests on to a gateway, or pretends to. `authority` is whom the cluster names."""

    def __init__(self, client: Client, port: int, trust: str) -> None:
        self.client, self._port, self._trust = client, port, trust
        self.authority = trustme.CA()

    async def publish(self) -> None:
        """Tells the gateway who speaks for users."""
        data = {
            "requestheader-client-ca-file": self.authority.cert_pem.bytes().decode(),
            "requestheader-allowed-names": json.dumps([FRONT]),
            "requestheader-username-headers": '["X-Remote-User"]',
            "requestheader-group-headers": '["X-Remote-Group"]',
            "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
        }
        place = {"name": frontproxy.NAME, "namespace": frontproxy.NAMESPACE}
        wanted = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": place, "data": data}
        await self.client.apply(CONFIG_MAPS, wanted, "test")

    async def ask(self, headers: dict[str, str], name: str = FRONT, authority: trustme.CA | None = None) -> int:
        """The code of the answer to a token request; 0 where the handshake is refused."""
        context = ssl.create_default_context(cadata=self._trust)
        if name:
            shown = (authority or self.authority).issue_cert("front.test", common_name=name)
            shown.configure_cert(context)
        url = f"https://127.0.0.1:{self._port}{UPLOAD_TOKEN_REQUESTS.path('default')}"
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.post(url, json=REQUEST, headers=headers, ssl=context) as answer,
            ):
                found: Any = await answer.json()
                assert answer.status != 201 or found["status"]["token"]
                return answer.status
        except aiohttp.ClientConnectionError:
            return 0


async def made_if_missing(client: Client, resource: Any, obj: Object) -> None:
    try:
        await client.create(resource, obj)
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise


@asynccontextmanager
async def running(client: Client, directory: Path) -> AsyncIterator[Front]:
    """A gateway for the length of the block, and the front before it."""
    for namespace in (SYSTEM_NAMESPACE, frontproxy.NAMESPACE):
        await made_if_missing(client, NAMESPACES, {"metadata": {"name": namespace}})
    await made_if_missing(client, VOLUME_CLAIMS, CLAIM)
    await made_if_missing(client, CRDS, API_SERVICES_CRD)
    for name in bundles.NAMES:
        await eventually(lambda name=name: _described(client, name))
    uploads, tokens = free_ports(2)
    ports = Ports(("127.0.0.1", uploads), ("127.0.0.1", tokens), f"127.0.0.1:{uploads}")
    stop = asyncio.Event()
    task = asyncio.create_task(Gateway(client, ports, directory).run(stop))

    async def known() -> Object | None:
        status = (await client.get(CDI_CONFIGS, "config")).get("status") or {}
        told = status.get("uploadProxyURL") == f"https://{ports.known_as}"
        return status if told and "uploadProxyCA" in status else None

    try:
        front = Front(client, tokens, (await eventually(known))["uploadProxyCA"])
        await front.publish()
        await eventually(lambda: _is(front.ask(USER), 201))
        yield front
    finally:
        stop.set()
        await task


async def _described(client: Client, name: str) -> bool:
    """Makes an APIService, once its kind is known."""
    head = {"apiVersion": API_SERVICES.api_version, "kind": API_SERVICES.kind}
    try:
        await made_if_missing(client, API_SERVICES, {**head, "metadata": {"name": name}, "spec": {}})
    except ApiError as error:
        if error.code == 404:
            return False
        raise
    return True


async def _is(asked: Any, code: int) -> bool:
    return bool(await asked == code)


@pytest.fixture
async def front(server: IngotUp, tmp_path: Path) -> AsyncIterator[Front]:
    async with (
        Client.connect(load(server.kubeconfig), on_warning=lambda _: None) as client,
        running(client, tmp_path) as made,
    ):
        yield made


async def test_only_the_api_server_speaks_for_users(front: Front) -> None:
    assert await front.ask(USER, name="") == 401, "nobody has shown who speaks"
    assert await front.ask(USER, name="stranger") == 401, "the name is not among those that may"
    assert await front.ask(USER, authority=trustme.CA()) == 0, "the authority is another"
    assert await front.ask({}) == 401, "it is not said for whom"


async def test_a_user_needs_the_right_to_create_requests(front: Front) -> None:
    assert await front.ask({"X-Remote-User": "jane"}) == 403
    assert await front.ask({"X-Remote-User": "jane", "X-Remote-Group": "system:masters"}) == 201


async def test_a_new_authority_of_the_api_server_takes_the_place_of_the_old(front: Front) -> None:
    old, front.authority = front.authority, trustme.CA()
    await front.publish()
    await eventually(lambda: _is(front.ask(USER), 201))
    assert await front.ask(USER, authority=old) == 0


async def test_its_secret_is_made_anew_when_somebody_deletes_it(front: Front) -> None:
    before = await front.client.get(SECRETS, keeper.NAME, SYSTEM_NAMESPACE)
    await front.client.delete(SECRETS, keeper.NAME, SYSTEM_NAMESPACE)

    async def told() -> bool:
        """Whether all who trust the gateway have heard of it: the API server, and clients."""
        authority = (await front.client.get(SECRETS, keeper.NAME, SYSTEM_NAMESPACE))["data"]["ca.crt"]
        config = (await front.client.get(CDI_CONFIGS, "config"))["status"]
        services = [await front.client.get(API_SERVICES, name) for name in bundles.NAMES]
        known = {base64.b64encode(config.get("uploadProxyCA", "").encode()).decode(), authority}
        known |= {each["spec"]["caBundle"] for each in services}
        return known == {authority} and authority != before["data"]["ca.crt"]

    await eventually(told)


async def test_prometheus_sees_the_end_of_its_certificates_come(front: Front, server: IngotUp, tmp_path: Path) -> None:
    uploads, tokens, metrics = (f"127.0.0.1:{port}" for port in free_ports(3))
    places = ["--listen", uploads, "--listen-tokens", tokens, "--metrics", metrics, "--dir", str(tmp_path / "second")]
    command = [*INGOT, "gateway", "--kubeconfig", str(server.kubeconfig), *places]
    second = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.DEVNULL)

    async def named() -> set[str]:
        try:
            async with aiohttp.ClientSession() as session, session.get(f"http://{metrics}/metrics") as answer:
                return set(re.findall(r'_timestamp_seconds{certificate="([^"]*)"}', await answer.text()))
        except aiohttp.ClientConnectionError:
            return set()

    async def both() -> bool:
        return await named() == {"gateway", "gateway-authority"}

    try:
        await eventually(both)
    finally:
        second.terminate()
        await second.wait()
