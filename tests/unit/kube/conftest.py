"""A misbehaving server, clocks that tests move, and a client for both."""

from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from kube_faults import EagerClock, FaultServer

from ingot.kube.client import Client
from ingot.kube.clock import ManualClock
from ingot.kube.kubeconfig import Config
from ingot.kube.transport import Transport


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    fault = FaultServer()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", fault.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    fault.url = "http://{}:{}".format(*runner.addresses[0][:2])
    yield fault
    await runner.cleanup()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def eager() -> EagerClock:
    return EagerClock()


@pytest.fixture
async def client(server: FaultServer, eager: EagerClock) -> AsyncIterator[Client]:
    async with Client(Transport(Config(server=server.url), clock=eager)) as client:
        yield client
