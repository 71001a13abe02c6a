"""Handing requests on: what the server behind sees of them, and what it cannot be told."""

from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import unquote

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from ingot.api.status import ApiError
from ingot.host import sockets
from ingot.standalone.access.user import User
from ingot.standalone.http.aggregate import Extension
from ingot.standalone.http.answers import refusal
from ingot.standalone.http.target import parse

PATH = "/apis/subresources.kubevirt.io/v1/namespaces/a/virtualmachineinstances/b/console"
USER = User("jane", "u1", ("devs", "system:authenticated"), {"example.org/Scope": ("x", "y")})


@pytest.fixture
async def front(tmp_path: Path) -> AsyncIterator[RawTestServer]:
    async def behind(request: web.Request) -> web.StreamResponse:
        if request.headers.get("Upgrade"):
            socket = web.WebSocketResponse(protocols=("plain.kubevirt.io",))
            await socket.prepare(request)
            await socket.send_str(",".join(request.headers.getall("Sec-WebSocket-Protocol", [])))
            await socket.send_bytes(await socket.receive_bytes())
            await socket.close(code=4000, message=b"that was all")
            return socket
        if request.query.get("long"):
            return web.Response(body=bytes(4 << 20))
        sent = [[name, value] for name, value in request.headers.items()]
        return web.json_response({"path": request.raw_path, "headers": sent, "body": await request.text()}, status=202)

    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", behind)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.SockSite(runner, sockets.listen(tmp_path / "behind")).start()
    extension = Extension(tmp_path / "behind")

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        found = parse(request.raw_path.partition("?")[0])
        assert found
        try:
            return await extension.answer(request, found, USER)
        except ApiError as error:
            return refusal(error)

    server = RawTestServer(handle)
    await server.start_server()
    yield server
    await server.close()
    await runner.cleanup()


async def test_the_user_is_told_and_nobody_else_can_say_who_it_is(front: RawTestServer) -> None:
    lies = {"X-Remote-User": "root", "x-remote-group": "system:masters", "X-Remote-Extra-Scope": "all"}
    secrets = {"Authorization": "Bearer s3cret", "Cookie": "c=1", "Impersonate-User": "root"}
    async with (
        aiohttp.ClientSession(headers=lies | secrets) as session,
        session.put(front.make_url(PATH + "?x=1%2B1"), data=b"{}") as answer,
    ):
        assert answer.status == 202
        seen = await answer.json()
    assert seen["path"] == PATH + "?x=1%2B1"
    assert seen["body"] == "{}"
    told = [(name.lower(), value) for name, value in seen["headers"] if name.lower().startswith("x-remote-")]
    assert told == [
        ("x-remote-user", "jane"),
        ("x-remote-uid", "u1"),
        ("x-remote-group", "devs"),
        ("x-remote-group", "system:authenticated"),
        ("x-remote-extra-example.org%2fscope", "x"),
        ("x-remote-extra-example.org%2fscope", "y"),
    ]
    assert unquote(told[4][0]) == "x-remote-extra-example.org/scope"
    names = {name.lower() for name, _ in seen["headers"]}
    assert names.isdisjoint({"authorization", "cookie", "impersonate-user"})


async def test_a_tunnel_carries_messages_and_the_farewell_but_not_the_token(front: RawTestServer) -> None:
    credential = "base64url.bearer.authorization.k8s.io.c2VjcmV0"
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(front.make_url(PATH), protocols=(credential, "plain.kubevirt.io")) as socket,
    ):
        assert socket.protocol == "plain.kubevirt.io"
        assert await socket.receive_str(timeout=5) == "plain.kubevirt.io"
        await socket.send_bytes(b"\x00\x01")
        assert await socket.receive_bytes(timeout=5) == b"\x00\x01"
        last = await socket.receive(timeout=5)
        assert (last.type, last.data, last.extra) == (aiohttp.WSMsgType.CLOSE, 4000, "that was all")


async def test_answers_are_bounded(front: RawTestServer) -> None:
    async with aiohttp.ClientSession() as session, session.get(front.make_url(PATH + "?long=1")) as answer:
        assert answer.status == 502
