"""Asking workers how far they are: honest ones, and those that lie, stall, shout or are not there."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from eventual import eventually
from ingot.api.object import Object
from ingot.control.volumes.filler import Reading
from ingot.control.volumes.progress import POLL_SECONDS, Readings
from ingot.kube.cache import Key
from ingot.kube.clock import ManualClock

KEY, OTHER = Key("ns", "disk"), Key("ns", "other")

Behave = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def pod(address: str = "127.0.0.1", uid: str = "1") -> Object:
    return {"metadata": {"name": "worker", "namespace": "ns", "uid": uid}, "status": {"podIP": address}}


def answer(body: str, head: str = "HTTP/1.1 200 OK") -> Behave:
    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"{head}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        writer.close()

    return behave


class Desk:
    """Readings on a clock of the test's, and what changed."""

    def __init__(self, port: int) -> None:
        self.clock = ManualClock()
        self.changed: list[Key] = []
        self.readings = Readings(self.changed.append, self.clock, port)

    async def poll(self) -> None:
        await self.clock.advance(POLL_SECONDS)


@asynccontextmanager
async def desk(behave: Behave) -> AsyncIterator[Desk]:
    server = await asyncio.start_server(behave, "127.0.0.1", 0)
    made = Desk(server.sockets[0].getsockname()[1])
    running = asyncio.create_task(made.readings.run())
    try:
        yield made
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        server.close()


async def _told(made: Desk, key: Key = KEY, worker: Object | None = None) -> Reading:
    async def look() -> Reading | None:
        await made.poll()
        return made.readings.of(key, worker or pod())

    return await eventually(look)


async def test_a_worker_is_asked_until_it_is_forgotten() -> None:
    async with desk(answer('{"done": 5, "total": 10, "rate": 2, "more": []}')) as made:
        assert made.readings.of(KEY, pod()) is None
        assert await _told(made) == Reading(5, 10, 2)
        assert made.changed == [KEY]
        await _told(made)
        assert made.changed == [KEY], "nothing has changed since"
        made.readings.forget(KEY)
        assert made.readings.of(KEY, pod(uid="2")) is None


async def test_the_reading_of_another_pod_is_not_its_successors() -> None:
    async with desk(answer('{"done": 5}')) as made:
        await _told(made)
        assert made.readings.of(KEY, pod(uid="2")) is None
        assert await _told(made, worker=pod(uid="2")) == Reading(5, 0, 0)


async def test_a_pod_without_an_address_is_not_asked() -> None:
    async with desk(answer('{"done": 5}')) as made:
        assert made.readings.of(KEY, pod(address="")) is None
        await made.poll()
        assert made.changed == []


async def test_more_than_all_is_all() -> None:
    async with desk(answer('{"done": 500, "total": 10}')) as made:
        assert await _told(made) == Reading(10, 10, 0)


@pytest.mark.parametrize(
    "behave",
    [
        answer('{"done": -1}'),
        answer('{"done": 9223372036854775808}'),
        answer('{"done": 1e400}'),
        answer('{"done": "5"}'),
        answer("[]"),
        answer("{" * 4000),
        answer('{"done": 1, "x": "' + "y" * 100_000 + '"}'),
        answer('{"done": 1}', "HTTP/1.1 500 No"),
        answer('{"done": 1}', "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/"),
        answer('{"done": 1}', "GARBAGE"),
    ],
)
async def test_who_lies_is_not_believed_and_others_are_heard(behave: Behave) -> None:
    asked = 0

    async def either(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        peer = writer.get_extra_info("sockname")[0]
        asked += peer == "127.0.0.1"
        await (behave if peer == "127.0.0.1" else answer('{"done": 7}'))(reader, writer)

    server = await asyncio.start_server(either, "0.0.0.0", 0)  # noqa: S104
    made = Desk(server.sockets[0].getsockname()[1])
    running = asyncio.create_task(made.readings.run())
    try:
        made.readings.of(KEY, pod())
        made.readings.of(OTHER, pod("127.0.0.2"))
        assert await _told(made, OTHER, pod("127.0.0.2")) == Reading(7, 0, 0)
        assert asked
        assert made.readings.of(KEY, pod()) is None
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        server.close()


async def test_who_never_answers_keeps_others_for_two_seconds_at_most() -> None:
    silent = asyncio.Event()

    async def hang(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if writer.get_extra_info("sockname")[0] == "127.0.0.2":
            await answer('{"done": 7}')(_reader, writer)
            return
        silent.set()
        await asyncio.sleep(60)

    server = await asyncio.start_server(hang, "0.0.0.0", 0)  # noqa: S104
    made = Desk(server.sockets[0].getsockname()[1])
    running = asyncio.create_task(made.readings.run())
    try:
        made.readings.of(KEY, pod())
        made.readings.of(OTHER, pod("127.0.0.2"))
        await made.poll()
        async with asyncio.timeout(10):
            await silent.wait()
            assert await _told(made, OTHER, pod("127.0.0.2")) == Reading(7, 0, 0)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        server.close()
