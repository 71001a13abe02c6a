"""A machine with an API server, the extension server and an agent, and with guests that are sockets of the test's."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ingot.api.object import Object
from ingot.api.resources import INSTANCES, MACHINES, NAMESPACES, NODES
from ingot.api.status import ApiError, conflict
from ingot.control.subresources.server import serve
from ingot.host import sockets
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from ingot.node.server import AgentServer
from ingot.standalone.server import Server

ROOT = "/apis/subresources.kubevirt.io/v1/namespaces/lab"
NODE = "here"


class Guests:
    """What the agent is asked for; the console is a socket that shouts back."""

    def __init__(self, directory: Path) -> None:
        self.serial = directory / "serial"
        self.asked: list[tuple[str, str, str]] = []

    async def pause(self, namespace: str, name: str) -> None:
        self.asked.append(("pause", namespace, name))

    async def unpause(self, namespace: str, name: str) -> None:
        self.asked.append(("unpause", namespace, name))

    async def reset(self, namespace: str, name: str) -> None:
        raise conflict("kubevirt.io", "virtualmachineinstances", name, "it is being started")

    async def soft_reboot(self, namespace: str, name: str) -> None:
        self.asked.append(("softreboot", namespace, name))

    async def console(self, namespace: str, name: str) -> socket.socket:
        return await sockets.dial(self.serial)

    async def screen(self, namespace: str, name: str) -> socket.socket:
        return await sockets.dial(self.serial)


class World:
    """A machine with everything but guests."""

    def __init__(self, client: Client, guests: Guests, directory: Path) -> None:
        self.client = client
        self.guests = guests
        self.directory = directory

    async def put(self, what: str, body: Object | None = None) -> None:
        raw = None if body is None else msgspec.json.encode(body)
        await self.client.transport.request("PUT", f"{ROOT}/{what}", body=raw)

    async def refused(self, what: str, body: Object | None = None) -> tuple[int, str]:
        with pytest.raises(ApiError) as caught:
            await self.put(what, body)
        return caught.value.code, caught.value.message

    async def machine(self, name: str, **spec: Any) -> None:
        template = {"spec": {"domain": {"devices": {}, "resources": {"requests": {"memory": "64Mi"}}}}}
        body: Object = {"metadata": {"name": name, "namespace": "lab"}, "spec": {**spec, "template": template}}
        body |= {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine"}
        await self.client.create(MACHINES, body)

    async def instance(self, name: str, phase: str, conditions: tuple[str, ...] = (), **devices: Any) -> Object:
        spec = {"domain": {"devices": devices, "resources": {"requests": {"memory": "64Mi"}}}}
        body: Object = {"metadata": {"name": name, "namespace": "lab"}, "spec": spec}
        body |= {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance"}
        await self.client.create(INSTANCES, body)
        marks = [{"type": kind, "status": "True"} for kind in conditions]
        status = {"status": {"phase": phase, "nodeName": NODE, "conditions": marks}}
        return await self.client.patch(INSTANCES, name, status, "lab", subresource="status")

    async def spec(self, name: str) -> Object:
        spec: Object = (await self.client.get(MACHINES, name, "lab"))["spec"]
        return spec

    async def requests(self, name: str) -> list[Object]:
        status = (await self.client.get(MACHINES, name, "lab")).get("status", {})
        return list(status.get("stateChangeRequests", []))


@asynccontextmanager
async def running(directory: Path) -> AsyncIterator[World]:
    guests = Guests(directory)
    agent = AgentServer(guests, directory / "agent.sock")
    server = Server(directory, "127.0.0.1", 0, extension=directory / "subresources.sock")
    await agent.start()
    await server.start()
    shouting = await asyncio.start_unix_server(_shout, guests.serial)
    try:
        async with Client.connect(load(directory / "kubeconfig")) as client:
            extension = asyncio.create_task(serve(client, directory / "subresources.sock"))
            await client.create(NAMESPACES, {"metadata": {"name": "lab"}})
            annotations = {"ingot.io/agent-address": f"unix://{directory}/agent.sock"}
            await client.create(NODES, {"metadata": {"name": NODE, "annotations": annotations}})
            yield World(client, guests, directory)
            extension.cancel()
            await asyncio.gather(extension, return_exceptions=True)
    finally:
        shouting.close()
        await agent.stop()
        await server.stop()


async def _shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"login: ")
    while chunk := await reader.read(1024):
        writer.write(chunk.upper())
        await writer.drain()
    writer.close()
