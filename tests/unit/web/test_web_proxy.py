"""What the endpoint passes on of a body and when it stops, and how many uploads it takes at once."""

import asyncio

import pytest
from aiohttp import StreamReader, web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.test_utils import make_mocked_request

from eventual import eventually
from ingot.control.reach import Line
from ingot.control.uploads.credentials import Credentials
from ingot.control.uploads.token import Grant
from ingot.web.body import BadBody, Cut
from ingot.web.destination import Destination, Destinations, Refused
from ingot.web.proxy import MOST_OF_NAMESPACE, MOST_UPLOADS, Proxy, _body


async def test_no_byte_beyond_the_length_is_passed_on_in_silence() -> None:
    coming = StreamReader(BaseProtocol(asyncio.get_running_loop()), 1 << 16)
    coming.feed_data(b"abcd")
    coming.feed_eof()
    request = make_mocked_request("PUT", "/", headers={"Content-Length": "3"}, payload=coming)
    stopped: list[BadBody | Cut] = []
    with pytest.raises(BadBody, match="more bytes have come than the 3 of Content-Length"):
        await anext(_body(request, stopped))
    assert [error.why for error in stopped] == ["more bytes have come than the 3 of Content-Length"]


class Namespaces(Destinations):
    """Each token is the name of a namespace; one without a name opens nothing, which takes its time."""

    def __init__(self) -> None:
        self.told = asyncio.Event()
        self.answers = asyncio.Event()
        self.answers.set()
        self.asked = 0

    async def grant(self, token: str) -> Grant:
        if not token:
            await self.told.wait()
            raise Refused
        return Grant(token, "disk", "a-claim", 0)

    async def find(self, grant: Grant) -> Destination:
        self.asked += 1
        await self.answers.wait()
        return Destination(Line("pod"), Credentials(b"", ""), grant.uid)


class Busy(Proxy):
    """Uploads go on until they are let go."""

    def __init__(self) -> None:
        self.namespaces = Namespaces()
        super().__init__(self.namespaces)
        self.begun = 0
        self.let_go = asyncio.Event()

    async def _pass_on(self, request: web.BaseRequest, destination: Destination, path: str) -> web.Response:
        self.begun += 1
        await self.let_go.wait()
        return web.Response()

    def send(self, token: str, times: int = 1) -> list[asyncio.Task[int]]:
        return [asyncio.create_task(self._code(token)) for _ in range(times)]

    async def _code(self, token: str) -> int:
        request = make_mocked_request("PUT", "/v1beta1/upload", headers={"Authorization": f"Bearer {token}"})
        return (await self(request)).status

    async def goes_on(self, uploads: int) -> None:
        async def look() -> bool:
            return self.begun == uploads

        await eventually(look)


async def test_a_namespace_has_its_share_of_the_uploads() -> None:
    proxy = Busy()
    going = proxy.send("a", MOST_OF_NAMESPACE)
    await proxy.goes_on(MOST_OF_NAMESPACE)
    assert await asyncio.gather(*proxy.send("a")) == [503]
    for number in range(MOST_UPLOADS // MOST_OF_NAMESPACE - 1):
        going += proxy.send(f"other-{number}", MOST_OF_NAMESPACE)
    await proxy.goes_on(MOST_UPLOADS)
    assert await asyncio.gather(*proxy.send("late")) == [503]
    proxy.let_go.set()
    assert set(await asyncio.gather(*going, *proxy.send("a"), *proxy.send("late"))) == {200}


async def test_what_is_asked_of_the_api_has_the_same_bounds() -> None:
    """Whoever had one token could have it asked without end."""
    proxy = Busy()
    proxy.let_go.set()
    proxy.namespaces.answers.clear()
    going = proxy.send("a", MOST_OF_NAMESPACE)
    assert await asyncio.gather(*proxy.send("a")) == [503]
    for number in range(MOST_UPLOADS // MOST_OF_NAMESPACE - 1):
        going += proxy.send(f"other-{number}", MOST_OF_NAMESPACE)
    assert await asyncio.gather(*proxy.send("late")) == [503]
    assert proxy.namespaces.asked == MOST_UPLOADS
    proxy.namespaces.answers.set()
    assert set(await asyncio.gather(*going, *proxy.send("late"))) == {200}


async def test_tokens_that_open_nothing_take_no_place() -> None:
    proxy = Busy()
    strangers = proxy.send("", 2 * MOST_UPLOADS)
    going = proxy.send("a")
    await proxy.goes_on(1)
    proxy.let_go.set()
    proxy.namespaces.told.set()
    assert await asyncio.gather(*going) == [200]
    assert set(await asyncio.gather(*strangers)) == {401}
