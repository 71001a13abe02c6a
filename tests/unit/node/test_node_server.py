"""The agent's server, with guests played by unix sockets."""

import asyncio
import contextlib
import os
import queue
import socket
import stat
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from ingot.api.kubevirt.subresources import PLAIN
from ingot.api.status import ApiError, not_found
from ingot.host import sockets
from ingot.host.sockets import short
from ingot.kube.tunnel import Behind
from ingot.node.server import AgentServer

UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}
ROUNDS = 5
ONE = "/v1/namespaces/lab/virtualmachineinstances/one"


class Machines:
    """One guest, lab/one, whose serial port is a socket of the test's."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.done: list[str] = []

    async def pause(self, namespace: str, name: str) -> None:
        self._do("pause", namespace, name)

    async def unpause(self, namespace: str, name: str) -> None:
        self._do("unpause", namespace, name)

    async def reset(self, namespace: str, name: str) -> None:
        self._do("reset", namespace, name)

    async def soft_reboot(self, namespace: str, name: str) -> None:
        raise ApiError(409, "Conflict", "the guest is paused")

    async def console(self, namespace: str, name: str) -> socket.socket:
        self._do("console", namespace, name)
        return await sockets.dial(self.directory / "serial")

    async def screen(self, namespace: str, name: str) -> socket.socket:
        return await sockets.dial(self.directory / "nobody-listens")

    def _do(self, word: str, namespace: str, name: str) -> None:
        if (namespace, name) != ("lab", "one"):
            raise not_found("kubevirt.io", "virtualmachineinstances", name)
        self.done.append(word)


@asynccontextmanager
async def serving(directory: Path) -> AsyncIterator[tuple[Machines, aiohttp.ClientSession]]:
    machines = Machines(directory)
    server = AgentServer(machines, directory / "agent.sock")
    await server.start()
    try:
        with short(directory / "agent.sock") as name:
            connector = aiohttp.UnixConnector(name)
            async with aiohttp.ClientSession("http://agent", connector=connector) as session:
                yield machines, session
    finally:
        await server.stop()


@asynccontextmanager
async def serial(directory: Path, serve: object) -> AsyncIterator[None]:
    with short(directory / "serial") as name:
        server = await asyncio.start_unix_server(serve, name)  # type: ignore[arg-type]
        async with server:
            yield


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(1024):
        writer.write(chunk.upper())
        await writer.drain()
    writer.close()


@pytest.fixture(params=["short", "d" * 120])
def directory(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    made = tmp_path / str(request.param)
    made.mkdir()
    return made


async def test_acts_reach_the_guest_and_refusals_reach_the_client(directory: Path) -> None:
    async with serving(directory) as (machines, session), serial(directory, echo):
        for word in ("pause", "unpause", "reset"):
            async with session.put(f"{ONE}/{word}") as answer:
                assert answer.status == 202
        assert machines.done == ["pause", "unpause", "reset"]
        async with session.put(f"{ONE}/softreboot") as answer:
            assert answer.status == 409
            assert (await answer.json())["message"] == "the guest is paused"
        async with session.put(ONE.replace("one", "two") + "/pause") as answer:
            assert answer.status == 404
        async with session.get(f"{ONE}/console") as answer:
            assert answer.status == 400


async def test_the_socket_is_for_its_owner_only_and_replaces_a_left_one(directory: Path) -> None:
    # Left by a process that is dead.
    os.mknod(directory / "agent.sock", stat.S_IFSOCK | 0o644)
    async with serving(directory) as (_, session):
        assert stat.S_IMODE((directory / "agent.sock").stat().st_mode) == 0o600
        async with session.put(f"{ONE}/pause") as answer:
            assert answer.status == 202
    assert not (directory / "agent.sock").exists()


async def test_a_console_carries_bytes_both_ways(directory: Path) -> None:
    async with (
        serving(directory) as (_, session),
        serial(directory, echo),
        session.ws_connect(f"{ONE}/console", protocols=(PLAIN,)) as client,
    ):
        assert client.protocol == PLAIN
        await client.send_bytes(b"abc\x00\xff")
        await client.send_str("text")
        got = b""
        while len(got) < 9:
            got += await client.receive_bytes(timeout=5)
        assert got == b"ABC\x00\xffTEXT"


async def test_the_next_client_takes_the_console_over(tmp_path: Path) -> None:
    async with (
        serving(tmp_path) as (_, session),
        serial(tmp_path, echo),
        session.ws_connect(f"{ONE}/console") as first,
        session.ws_connect(f"{ONE}/console") as second,
    ):
        closing = await first.receive(timeout=5)
        assert closing.type is aiohttp.WSMsgType.CLOSE
        assert closing.extra == "another client has connected"
        await second.send_bytes(b"mine")
        assert await second.receive_bytes(timeout=5) == b"MINE"


async def test_a_guest_that_ends_closes_the_console(tmp_path: Path) -> None:
    async def bye(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"bye")
        writer.close()

    async with (
        serving(tmp_path) as (_, session),
        serial(tmp_path, bye),
        session.ws_connect(f"{ONE}/console") as client,
    ):
        assert await client.receive_bytes(timeout=5) == b"bye"
        assert (await client.receive(timeout=5)).extra == "the guest has hung up"


async def test_a_screen_that_nobody_serves_is_told(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, session), session.get(f"{ONE}/vnc", headers=UPGRADE) as answer:
        assert answer.status == 500
        assert "the guest does not answer" in (await answer.json())["message"]


async def test_a_flood_waits_for_its_reader_and_another_client_still_gets_in(tmp_path: Path) -> None:
    sent, stuck = 0, asyncio.Event()

    async def flood(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        chunk = b"x" * 65536
        while not writer.is_closing():
            writer.write(chunk)
            try:
                await asyncio.wait_for(asyncio.shield(writer.drain()), 0.3)
            except TimeoutError:
                stuck.set()
                return
            except ConnectionError:
                return
            sent += len(chunk)

    async with serving(tmp_path) as (_, session), serial(tmp_path, flood):
        idle = await session.ws_connect(f"{ONE}/console", max_msg_size=0)
        await asyncio.wait_for(stuck.wait(), 10)
        assert sent < 8 << 20
        async with session.ws_connect(f"{ONE}/console") as second:
            assert await second.receive_bytes(timeout=5)
        await idle.close()


async def test_what_was_typed_before_hanging_up_arrives_whatever_the_guest_says_meanwhile(tmp_path: Path) -> None:
    behind = Behind(tmp_path / "agent.sock", lambda why: ApiError(503, "", why))

    async def front(request: web.BaseRequest) -> web.StreamResponse:
        return await behind.tunnel(request, request.path, ())

    with BusyAgent(tmp_path) as agent:
        async with RawTestServer(front) as server, aiohttp.ClientSession() as session:
            for number in range(ROUNDS):
                client = await session.ws_connect(server.make_url(f"{ONE}/console"), protocols=(PLAIN,))
                await client.receive()
                await client.send_bytes(b"poweroff")
                await client.close()
                assert await asyncio.to_thread(agent.heard.get, timeout=5) == b"poweroff", number


class BusyAgent(threading.Thread):
    """An agent with a guest that goes on talking. It is so slow that it learns of many things at once."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self.heard: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._directory = directory
        self._ready = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self.join()

    def run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        async with serving(self._directory), serial(self._directory, self._guest):
            self._ready.set()
            await self._over.wait()

    async def _guest(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talking, word = asyncio.create_task(_talk(writer)), b""
        try:
            while chunk := await reader.read(1024):
                word += chunk
        except ConnectionError:
            pass
        finally:
            talking.cancel()
            writer.transport.abort()
            self.heard.put(word)


async def _talk(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while True:
            writer.write(b"x")
            await asyncio.sleep(0)
            time.sleep(0.005)  # noqa: ASYNC251 - nothing else may be done meanwhile
