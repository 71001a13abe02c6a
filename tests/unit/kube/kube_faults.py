"""A server that misbehaves as a test tells it to, for what no real API server does on demand."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
from aiohttp import web

from ingot.api.object import Object
from ingot.kube.clock import ManualClock

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class FaultServer:
    """Answers every request by `handler`, and keeps what was asked in `requests`."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[web.Request] = []
        self.handler: Handler = self._unexpected

    async def _unexpected(self, request: web.Request) -> web.StreamResponse:
        raise AssertionError(f"nobody expected {request.method} {request.path_qs}")

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        await request.read()
        return await self.handler(request)

    def script(self, *responses: web.Response) -> None:
        """Give these answers, one for each request."""
        left = list(responses)

        async def next_one(_: web.Request) -> web.StreamResponse:
            return left.pop(0)

        self.handler = next_one


def answer(body: Object, status: int = 200, **headers: str) -> web.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    encoded = msgspec.json.encode(body)
    return web.Response(body=encoded, status=status, headers=named, content_type="application/json")


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what has no event of its own to wait for."""
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 (see above)
            await asyncio.sleep(0.001)


class EagerClock(ManualClock):
    """A clock on which every sleep is over at once; `slept` tells for how long it would have been."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    async def sleep(self, delay: float) -> None:
        self.slept.append(delay)
        await self.advance(delay)
