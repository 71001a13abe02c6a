"""The server put together: what a restart keeps, and what it renews while it runs."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from ingot.standalone import server as server_module
from ingot.standalone.server import Server

ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)


async def started(directory: Path) -> Server:
    made = Server(directory, "127.0.0.1", 0)
    await made.start()
    return made


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    made = await started(tmp_path)
    yield made
    await made.stop()


async def get(server: Server, resource: Resource, name: str) -> Object:
    async with Client.connect(load(server.directory / "kubeconfig")) as client:
        return await client.get(resource, name)


async def certificate(server: Server) -> bytes:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    _, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=context)
    shown = writer.get_extra_info("ssl_object").getpeercert(True)
    writer.close()
    assert isinstance(shown, bytes)
    return shown


async def test_certificates_are_renewed_while_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "RENEWAL_SECONDS", 0.02)
    server = await started(tmp_path)
    try:
        before = await certificate(server)
        (tmp_path / "pki" / "server.pem").unlink()
        async with asyncio.timeout(10):
            while await certificate(server) == before:  # noqa: ASYNC110  # a connection has to look
                await asyncio.sleep(0.02)
        assert (await get(server, ROLES, "view"))["kind"] == "ClusterRole"
    finally:
        await server.stop()


async def test_a_default_role_gets_back_what_it_lost_at_the_next_start(tmp_path: Path) -> None:
    server = await started(tmp_path)
    async with Client.connect(load(tmp_path / "kubeconfig")) as client:
        role = await client.get(ROLES, "system:basic-user")
        await client.replace(ROLES, {**role, "rules": []})
    await server.stop()
    server = await started(tmp_path)
    try:
        assert granted(await get(server, ROLES, "system:basic-user")) == granted(role)
    finally:
        await server.stop()


def granted(role: Object) -> set[tuple[str, str]]:
    return {(group, plural) for rule in role["rules"] for group in rule["apiGroups"] for plural in rule["resources"]}


async def test_our_own_kinds_are_served_from_the_start_and_unchanged_by_a_restart(tmp_path: Path) -> None:
    server = await started(tmp_path)
    first = await get(server, DEFINITIONS, "datavolumes.cdi.kubevirt.io")
    await server.stop()
    server = await started(tmp_path)
    try:
        second = await get(server, DEFINITIONS, "datavolumes.cdi.kubevirt.io")
    finally:
        await server.stop()
    assert {"type": "Established", "status": "True"}.items() <= first["status"]["conditions"][1].items()
    assert second == first


async def test_secrets_of_the_directory_are_private(server: Server) -> None:
    for name in ("kubeconfig", "token", "ingot.db", "pki/ca.pem", "pki/admin.pem", "pki/service-account.pem"):
        assert (server.directory / name).stat().st_mode & 0o077 == 0, name
