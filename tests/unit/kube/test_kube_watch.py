import asyncio
from collections.abc import Sequence
from contextlib import aclosing

import msgspec
import pytest
from aiohttp import web
from kube_faults import FaultServer

from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.status import ApiError
from ingot.kube.client import Client
from ingot.kube.transport import ConnectionFailed

THINGS = Resource("", "v1", "things", "Thing")
GONE: Object = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}


def line(kind: str, obj: Object) -> bytes:
    return msgspec.json.encode({"type": kind, "object": obj}) + b"\n"


def thing(name: str, version: int = 1) -> Object:
    return {"metadata": {"name": name, "resourceVersion": str(version)}}


def stream(server: FaultServer, pieces: Sequence[bytes], cut: bool = False) -> None:
    """Answer with these pieces, each in a packet of its own."""

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for piece in pieces:
            await response.write(piece)
            await asyncio.sleep(0.002)
        if cut and request.transport:
            request.transport.abort()
        return response

    server.handler = handler


async def names(client: Client, seen: list[str] | None = None) -> list[str]:
    """The names in all events, added to `seen` as they come."""
    seen = [] if seen is None else seen
    async for event in client.watch(THINGS):
        seen.append(event.object["metadata"]["name"])
    return seen


async def test_events_come_whole_however_they_are_cut(server: FaultServer, client: Client) -> None:
    raw = line("ADDED", thing("grün")) + line("MODIFIED", thing("b")) + b"\n" + line("DELETED", thing("c"))
    for size in (1, 7, 50, 1000):
        stream(server, [raw[start : start + size] for start in range(0, len(raw), size)])
        assert await names(client) == ["grün", "b", "c"]


async def test_a_large_event_arrives(server: FaultServer, client: Client) -> None:
    big = thing("big") | {"data": "x" * 3_000_000}
    stream(server, [line("ADDED", big)])
    assert await names(client) == ["big"]


async def test_an_error_event_is_raised_after_what_came_before(server: FaultServer, client: Client) -> None:
    stream(server, [line("ADDED", thing("a")) + line("ERROR", GONE) + line("ADDED", thing("never"))])
    seen: list[str] = []
    with pytest.raises(ApiError) as error:
        await names(client, seen)
    assert seen == ["a"]
    assert (error.value.code, error.value.reason) == (410, "Expired")


@pytest.mark.parametrize(
    ("pieces", "cut"),
    [
        ([line("ADDED", thing("a")), b'{"type": "ADD'], False),
        ([line("ADDED", thing("a"))], True),
        ([line("ADDED", thing("a")), b"<html>\n"], False),
        ([line("ADDED", thing("a")), b'{"type": 1, "object": {}}\n'], False),
        ([line("ADDED", thing("a")), b'{"type": "ADDED", "object": []}\n'], False),
        ([line("ADDED", thing("a")), b"[" * 100_000 + b"\n"], False),
    ],
)
async def test_a_stream_that_breaks_is_told(
    server: FaultServer, client: Client, pieces: list[bytes], cut: bool
) -> None:
    stream(server, pieces, cut)
    seen: list[str] = []
    with pytest.raises(ConnectionFailed) as error:
        await names(client, seen)
    assert seen == ["a"]
    assert error.value.path == "/api/v1/things"


async def test_leaving_early_closes_the_connection(server: FaultServer, client: Client) -> None:
    closed = asyncio.Event()

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(line("ADDED", thing("a")) + line("ADDED", thing("b")))
        try:
            await asyncio.Event().wait()
        finally:
            closed.set()
        return response

    server.handler = endless
    async with aclosing(client.watch(THINGS)) as events:
        async for _ in events:
            break
    async with asyncio.timeout(5):
        await closed.wait()


async def test_what_is_asked_for(server: FaultServer, client: Client) -> None:
    stream(server, [])
    watch = client.watch(THINGS, "ns", resource_version="7", seconds=9, label_selector="a=b,c")
    assert [event async for event in watch] == []
    request = server.requests[0]
    assert request.path == "/api/v1/namespaces/ns/things"
    assert dict(request.query) == {
        "watch": "true",
        "resourceVersion": "7",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "9",
        "labelSelector": "a=b,c",
    }
