"""Informers against a live API server, through a connection that a test can cut."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from ingot.api.object import Object
from ingot.kube.cache import OWNER, Key
from ingot.kube.client import Client
from ingot.kube.informer import Informer
from ingot.kube.objects import add_owner_reference
from wire.kinds import CONFIG_MAPS


class Wire:
    """A relay on the way to the server. Cut, it ends what is open and refuses what comes, as a restart does."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._open: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self._whole = True
        self.refused = asyncio.Event()
        self.port = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._relay, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def stop(self) -> None:
        self.cut()
        assert self._server
        self._server.close()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._whole:
            writer.transport.abort()
            self.refused.set()
            return
        there_reader, there_writer = await asyncio.open_connection(*self._target)
        self._open |= {writer, there_writer}
        await asyncio.gather(_pump(reader, there_writer), _pump(there_reader, writer))

    def join(self) -> None:
        self._whole = True

    def cut(self) -> None:
        self._whole = False
        for writer in self._open:
            writer.transport.abort()
        self._open.clear()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


@pytest.fixture
async def wire(client: Client) -> AsyncIterator[Wire]:
    address = urlsplit(client.transport.config.server)
    assert address.hostname
    wire = Wire(address.hostname, address.port or 443)
    await wire.start()
    yield wire
    wire.stop()


@pytest.fixture
async def distant(client: Client, wire: Wire) -> AsyncIterator[Client]:
    """A client whose packets go over the wire."""
    config = client.transport.config
    host = urlsplit(config.server).hostname or ""
    server = f"https://127.0.0.1:{wire.port}"
    async with Client.connect(replace(config, server=server, server_name=config.server_name or host)) as distant:
        yield distant


class Following:
    """An informer for one namespace, its names as they come and go, and a way to wait for a state of them."""

    def __init__(self, informer: Informer) -> None:
        self.informer = informer
        self.log: list[str] = []
        self._changed = asyncio.Event()
        informer.add_handler(self._told)

    def _told(self, old: Object | None, new: Object | None) -> None:
        sign = "+" if old is None else "-" if new is None else "~"
        self.log.append(sign + (new or old or {})["metadata"]["name"])
        self._changed.set()

    @property
    def names(self) -> set[str]:
        return {obj["metadata"]["name"] for obj in self.informer.cache.list()} - {"kube-root-ca.crt"}

    async def until(self, names: set[str]) -> None:
        async with asyncio.timeout(30):
            while self.names != names:
                self._changed.clear()
                await self._changed.wait()

    async def __aenter__(self) -> "Following":
        self._task = asyncio.create_task(self.informer.run())
        async with asyncio.timeout(30):
            await self.informer.wait_synced()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


def config_map(namespace: str, name: str, **labels: str) -> Object:
    return {"metadata": {"name": name, "namespace": namespace, "labels": labels}}


async def test_the_cache_follows_the_server(client: Client, namespace: str) -> None:
    for number in range(5):
        await client.create(CONFIG_MAPS, config_map(namespace, f"m{number}"))
    async with Following(Informer(client, CONFIG_MAPS, namespace, page=2)) as following:
        await following.until({"m0", "m1", "m2", "m3", "m4"})
        await client.delete(CONFIG_MAPS, "m0", namespace)
        await client.create(CONFIG_MAPS, config_map(namespace, "m5"))
        await following.until({"m1", "m2", "m3", "m4", "m5"})
        cached = following.informer.cache.get(Key(namespace, "m5"))
        assert cached is not None
        assert (cached["kind"], "managedFields" in cached["metadata"]) == ("ConfigMap", False)


async def test_objects_enter_and_leave_a_selection(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map(namespace, "in", team="a"))
    await client.create(CONFIG_MAPS, config_map(namespace, "out", team="b"))
    async with Following(Informer(client, CONFIG_MAPS, namespace, label_selector="team=a")) as following:
        await following.until({"in"})
        await client.patch(CONFIG_MAPS, "out", {"metadata": {"labels": {"team": "a"}}}, namespace)
        await client.patch(CONFIG_MAPS, "in", {"metadata": {"labels": {"team": "b"}}}, namespace)
        await following.until({"out"})
    assert following.log == ["+in", "+out", "-in"]


async def test_owned_objects_are_found_by_their_owner(client: Client, namespace: str) -> None:
    owner = await client.create(CONFIG_MAPS, config_map(namespace, "owner"))
    owned = config_map(namespace, "owned")
    add_owner_reference(owned, owner)
    await client.create(CONFIG_MAPS, owned)
    async with Following(Informer(client, CONFIG_MAPS, namespace)) as following:
        await following.until({"owner", "owned"})
        found = following.informer.cache.by_index(OWNER, owner["metadata"]["uid"])
        assert [obj["metadata"]["name"] for obj in found] == ["owned"]


async def test_an_outage_loses_nothing(client: Client, distant: Client, wire: Wire, namespace: str) -> None:
    for name in ("kept", "deleted", "changed", "reborn"):
        await client.create(CONFIG_MAPS, config_map(namespace, name))
    async with Following(Informer(distant, CONFIG_MAPS, namespace)) as following:
        await following.until({"kept", "deleted", "changed", "reborn"})
        following.log.clear()
        wire.cut()
        await client.delete(CONFIG_MAPS, "deleted", namespace)
        await client.patch(CONFIG_MAPS, "changed", {"data": {"a": "b"}}, namespace)
        await client.delete(CONFIG_MAPS, "reborn", namespace)
        await client.create(CONFIG_MAPS, config_map(namespace, "reborn"))
        await client.create(CONFIG_MAPS, config_map(namespace, "new"))
        await wire.refused.wait()
        wire.join()
        await following.until({"kept", "changed", "reborn", "new"})
    relevant = [entry for entry in following.log if not entry.endswith("kube-root-ca.crt")]
    assert sorted(relevant) == sorted(["-deleted", "~changed", "-reborn", "+reborn", "+new"])


async def test_an_old_version_is_recovered_from(client: Client, namespace: str) -> None:
    """A server that still has it sends all changes since; one that has not says 410, and all is listed again."""
    informer = Informer(client, CONFIG_MAPS, namespace)
    informer._version = "1"
    await client.create(CONFIG_MAPS, config_map(namespace, "there"))
    following = Following(informer)
    task = asyncio.create_task(informer.run())
    await following.until({"there"})
    await client.delete(CONFIG_MAPS, "there", namespace)
    await following.until(set())
    task.cancel()
