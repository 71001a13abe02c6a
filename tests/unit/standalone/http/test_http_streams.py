"""Streams: a WebSocket to something that runs, with a subprotocol that both sides know."""

import aiohttp
import pytest
from aiohttp import WSMsgType, web
from aiohttp.test_utils import TestServer

from ingot.api.status import ApiError
from ingot.standalone.http.answers import refusal
from ingot.standalone.http.streams import Stream, Streams, connect
from ingot.standalone.http.target import Target, parse

PATH = "/apis/subresources.kubevirt.io/v1/namespaces/a/virtualmachineinstances/b/console"


async def shout(socket: web.WebSocketResponse, target: Target) -> None:
    await socket.send_bytes(target.name.encode())
    async for message in socket:
        if message.type == WSMsgType.BINARY:
            await socket.send_bytes(message.data.upper())


@pytest.fixture
async def server() -> TestServer:
    streams = Streams()
    streams.add("subresources.kubevirt.io", "virtualmachineinstances", "console", Stream(("plain.kubevirt.io",), shout))

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        target = parse(request.path)
        assert target is not None
        stream = streams.find(target)
        assert stream is not None
        try:
            return await connect(request, target, stream)
        except ApiError as error:
            return refusal(error)

    made = aiohttp.test_utils.RawTestServer(handle)
    await made.start_server()
    yield made
    await made.close()


async def test_bytes_go_both_ways(server: TestServer) -> None:
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(server.make_url(PATH), protocols=("other", "plain.kubevirt.io")) as socket,
    ):
        assert socket.protocol == "plain.kubevirt.io"
        assert (await socket.receive_bytes()) == b"b"
        await socket.send_bytes(b"hello")
        assert (await socket.receive_bytes()) == b"HELLO"


async def test_a_plain_request_is_told_to_upgrade(server: TestServer) -> None:
    async with aiohttp.ClientSession() as session, session.get(server.make_url(PATH)) as answer:
        assert answer.status == 400
        assert (await answer.json())["message"] == "Upgrade request required"


def test_other_paths_have_no_stream() -> None:
    assert Streams().find(Target("", "v1", "pods", "a", "b", "exec")) is None
