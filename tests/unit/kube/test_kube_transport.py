import asyncio
import socket

import pytest
from aiohttp import web
from kube_faults import EagerClock, FaultServer, answer

from ingot.api.status import ApiError, forbidden
from ingot.kube.client import Client
from ingot.kube.kubeconfig import Config, Material
from ingot.kube.transport import RETRIES, ConnectionFailed, Transport

BUSY = {"kind": "Status", "apiVersion": "v1", "reason": "TooManyRequests", "message": "busy", "code": 429}


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH"])
async def test_429_waits_as_long_as_the_server_says(
    server: FaultServer, client: Client, eager: EagerClock, method: str
) -> None:
    server.script(answer(BUSY, 429, Retry_After="3"), answer({"ok": True}))
    assert await client.call(method, "/x", {}) == {"ok": True}
    assert len(eager.slept) == 1
    assert 3 <= eager.slept[0] <= 3.6


async def test_429_without_a_time_is_an_answer(server: FaultServer, client: Client) -> None:
    server.script(answer(BUSY, 429))
    with pytest.raises(ApiError, match="busy") as error:
        await client.call("GET", "/x")
    assert (error.value.code, error.value.reason) == (429, "TooManyRequests")


async def test_a_server_that_is_always_busy_is_left_alone(
    server: FaultServer, client: Client, eager: EagerClock
) -> None:
    server.script(*(answer(BUSY, 429, Retry_After="3600") for _ in range(RETRIES)))
    with pytest.raises(ApiError, match="busy"):
        await client.call("GET", "/x")
    assert len(server.requests) == RETRIES
    assert max(eager.slept) <= 36


@pytest.mark.parametrize(("method", "sent"), [("GET", 2), ("PUT", 2), ("DELETE", 2), ("POST", 1), ("PATCH", 1)])
async def test_503_is_sent_again_only_if_that_can_do_no_harm(
    server: FaultServer, client: Client, method: str, sent: int
) -> None:
    server.script(web.Response(status=503, text="starting", headers={"Retry-After": "1"}), answer({}))
    if sent == 1:
        with pytest.raises(ApiError, match="HTTP 503: starting"):
            await client.call(method, "/x", {})
    else:
        await client.call(method, "/x", {})
    assert len(server.requests) == sent


@pytest.mark.parametrize(("method", "tries"), [("GET", RETRIES), ("POST", 1), ("PATCH", 1)])
async def test_a_refused_connection_is_tried_again_for_idempotent_requests(
    eager: EagerClock, method: str, tries: int
) -> None:
    url = f"http://127.0.0.1:{closed_port()}"
    async with Client(Transport(Config(server=url), clock=eager)) as client:
        with pytest.raises(ConnectionFailed) as error:
            await client.call(method, "/api")
    assert len(eager.slept) == tries - 1
    failed = error.value
    assert (failed.server, failed.method, failed.path, failed.why) == (url, method, "/api", "refused")
    assert not failed.sent


async def test_a_connection_cut_after_the_request_may_have_been_acted_on(server: FaultServer, client: Client) -> None:
    async def cut(request: web.Request) -> web.StreamResponse:
        assert request.transport
        request.transport.abort()
        return web.Response()

    server.handler = cut
    with pytest.raises(ConnectionFailed) as error:
        await client.call("POST", "/x", {})
    assert (error.value.why, error.value.sent) == ("closed", True)


async def test_a_body_that_breaks_off_is_no_answer(server: FaultServer, client: Client) -> None:
    async def half(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "100"})
        await response.prepare(request)
        await response.write(b'{"a":')
        assert request.transport
        request.transport.abort()
        return response

    server.handler = half
    with pytest.raises(ConnectionFailed, match="closed"):
        await client.call("GET", "/x")


async def test_silence_is_a_timeout(server: FaultServer, client: Client) -> None:
    async def silent(_: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    server.handler = silent
    with pytest.raises(ConnectionFailed) as error:
        await client.transport.request("GET", "/x", seconds=0.05)
    assert (error.value.why, error.value.sent) == ("timeout", True)


@pytest.mark.parametrize("body", [b"nonsense", b"[]", b'{"kind": "Pod"}', b"\xff\xfe", b"[" * 100_000, b""])
async def test_an_error_that_is_no_status_still_says_what_came(
    server: FaultServer, client: Client, body: bytes
) -> None:
    server.script(web.Response(status=500, body=body))
    with pytest.raises(ApiError, match="GET /x: HTTP 500: ") as error:
        await client.call("GET", "/x")
    assert error.value.code == 500
    assert len(error.value.message) < 300


@pytest.mark.parametrize("body", [b"ok", b"[1]", b"\xff", b"[" * 100_000, b""])
async def test_an_answer_that_is_no_object_is_an_error(server: FaultServer, client: Client, body: bytes) -> None:
    server.script(web.Response(body=body))
    with pytest.raises(ApiError, match="not a JSON object") as error:
        await client.call("GET", "/x")
    assert error.value.code == 502


async def test_warnings_and_headers(server: FaultServer, eager: EagerClock) -> None:
    warnings: list[str] = []
    config = Config(
        server=server.url,
        token=Material(b"t"),
        headers=(("Impersonate-Group", "a"), ("Impersonate-Group", "b")),
    )
    server.script(answer({}, Warning='299 - "use \\"v2\\" instead"'))
    async with Client(Transport(config, user_agent="tester", on_warning=warnings.append)) as client:
        await client.call("GET", "/x")
    assert warnings == ['use "v2" instead']
    headers = server.requests[0].headers
    assert headers.getall("Impersonate-Group") == ["a", "b"]
    assert headers["Authorization"] == "Bearer t"
    assert headers["User-Agent"] == "tester"


async def test_websockets_talk_and_are_refused(server: FaultServer, client: Client) -> None:
    async def echo(request: web.Request) -> web.StreamResponse:
        if request.path == "/no":
            return web.json_response(forbidden("", "pods", "one", "not for you").status(), status=403)
        sock = web.WebSocketResponse(max_msg_size=0, protocols=("v4.channel.k8s.io",))
        await sock.prepare(request)
        await sock.send_bytes(await sock.receive_bytes())
        return sock

    server.handler = echo
    async with await client.transport.websocket("/yes", protocols=["v4.channel.k8s.io"]) as opened:
        assert opened.protocol == "v4.channel.k8s.io"
        await opened.send_bytes(b"x" * 5_000_000)
        assert len(await opened.receive_bytes()) == 5_000_000
    with pytest.raises(ApiError) as error:
        await client.transport.websocket("/no")
    assert (error.value.code, "not for you" in error.value.message) == (403, True)
