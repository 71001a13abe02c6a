"""What the endpoint passes on of a body, and when it stops."""

import asyncio

import pytest
from aiohttp import StreamReader
from aiohttp.base_protocol import BaseProtocol
from aiohttp.test_utils import make_mocked_request

from ingot.web.body import BadBody, Cut
from ingot.web.proxy import _body


async def test_no_byte_beyond_the_length_is_passed_on_in_silence() -> None:
    coming = StreamReader(BaseProtocol(asyncio.get_running_loop()), 1 << 16)
    coming.feed_data(b"abcd")
    coming.feed_eof()
    request = make_mocked_request("PUT", "/", headers={"Content-Length": "3"}, payload=coming)
    stopped: list[BadBody | Cut] = []
    with pytest.raises(BadBody, match="more bytes have come than the 3 of Content-Length"):
        await anext(_body(request, stopped))
    assert [error.why for error in stopped] == ["more bytes have come than the 3 of Content-Length"]
