"""Answers of any size arrive whole, and what cannot be made is an error rather than half an answer."""

from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from ingot.standalone.http import answers

BIG = bytes(range(256)) * 4096


@pytest.fixture
async def server() -> AsyncIterator[RawTestServer]:
    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        parts = [BIG[start : start + 100_000] for start in range(0, len(BIG), 100_000)]
        match request.path:
            case "/whole":
                return answers.answer(BIG)
            case "/pieces":
                return answers.stream(iter(parts), "application/json")
        return answers.stream(iter(parts[:1]), "application/json")

    made = RawTestServer(handle)
    await made.start_server()
    yield made
    await made.close()


@pytest.mark.parametrize("path", ["/whole", "/pieces", "/small"])
async def test_an_answer_arrives_whole_and_the_connection_goes_on(server: RawTestServer, path: str) -> None:
    connector = aiohttp.TCPConnector(limit=1)
    async with aiohttp.ClientSession(connector=connector) as session:
        for _ in range(2):
            async with session.get(server.make_url(path)) as answer:
                assert await answer.read() == (BIG[:100_000] if path == "/small" else BIG)
                assert answer.headers["Cache-Control"] == answers.NO_CACHE
            async with session.head(server.make_url(path)) as answer:
                assert (answer.status, await answer.read()) == (200, b"")


def test_a_small_answer_that_cannot_be_made_fails_before_it_is_sent() -> None:
    def broken() -> Iterator[bytes]:
        yield b"{"
        raise ValueError("no object")

    with pytest.raises(ValueError, match="no object"):
        answers.stream(broken(), "application/json")
