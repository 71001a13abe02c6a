import asyncio

import pytest
from aiohttp import web
from kube_faults import FaultServer, answer, until

from ingot.api.resource import Resource
from ingot.kube.cache import Key
from ingot.kube.client import Client
from ingot.kube.clock import ManualClock, settle
from ingot.kube.controller import Controller
from ingot.kube.election import Election, LeadershipLost
from ingot.kube.manager import STOP_SECONDS, Manager

THINGS = Resource("", "v1", "things", "Thing")


@pytest.fixture
def things(server: FaultServer) -> list[str]:
    """A server with things and Leases; returns the names of the things."""
    names: list[str] = ["a", "b"]

    async def handle(request: web.Request) -> web.StreamResponse:
        if "leases" in request.path:
            return answer({"metadata": {"resourceVersion": "1"}, "spec": {"holderIdentity": "other"}}, 500)
        if request.query.get("watch"):
            await asyncio.Event().wait()
        items = [{"metadata": {"name": name, "namespace": "n", "resourceVersion": "1"}} for name in names]
        return answer({"metadata": {"resourceVersion": "1"}, "items": items})

    server.handler = handle
    return names


async def test_it_runs_when_caches_are_full_and_stops_when_told(client: Client, things: list[str]) -> None:
    manager, stop, seen = Manager(client), asyncio.Event(), []

    async def reconcile(key: Key) -> None:
        seen.append((key.name, len(manager.informer(THINGS).cache)))

    manager.add(Controller("things", reconcile).watch(manager.informer(THINGS)))
    running = asyncio.create_task(manager.run(stop))
    await until(lambda: len(seen) == 2)
    stop.set()
    await running
    assert seen == [("a", 2), ("b", 2)]


async def test_informers_are_shared_by_those_who_ask_for_the_same(client: Client) -> None:
    manager = Manager(client)
    assert manager.informer(THINGS) is manager.informer(THINGS)
    assert manager.informer(THINGS) is not manager.informer(THINGS, "ns")
    assert manager.informer(THINGS, label_selector="a") is not manager.informer(THINGS, label_selector="b")
    assert manager.informer(THINGS, label_selector="a") is not manager.informer(THINGS, field_selector="a")


async def test_stop_waits_for_the_begun_then_cancels_services(client: Client, things: list[str]) -> None:
    manager, stop = Manager(client), asyncio.Event()
    begun, gate, log = asyncio.Event(), asyncio.Event(), []

    async def reconcile(_: Key) -> None:
        begun.set()
        await gate.wait()
        log.append("reconciled")

    async def service() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            log.append("service ended")

    manager.add(Controller("things", reconcile).watch(manager.informer(THINGS)))
    manager.serve(service)
    running = asyncio.create_task(manager.run(stop))
    await begun.wait()
    stop.set()
    await settle()
    gate.set()
    await running
    assert log == ["reconciled", "service ended"]


async def test_a_reconcile_that_never_ends_is_cancelled(client: Client, things: list[str], clock: ManualClock) -> None:
    manager, stop = Manager(client, clock=clock), asyncio.Event()
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def reconcile(_: Key) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    manager.add(Controller("things", reconcile, clock=clock).watch(manager.informer(THINGS)))
    running = asyncio.create_task(manager.run(stop))
    await begun.wait()
    stop.set()
    await clock.advance(STOP_SECONDS - 1)
    assert not cancelled.is_set()
    await clock.advance(1)
    await running
    assert cancelled.is_set()


async def test_a_service_that_fails_ends_everything(client: Client, things: list[str]) -> None:
    manager, ended = Manager(client), asyncio.Event()

    async def fail() -> None:
        await manager.informer(THINGS).wait_synced()
        raise LookupError("port in use")

    async def other() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def idle(_: Key) -> None:
        return None

    manager.add(Controller("things", idle).watch(manager.informer(THINGS)))
    manager.serve(fail)
    manager.serve(other)
    with pytest.raises(LookupError, match="port in use"):
        await manager.run(asyncio.Event())
    assert ended.is_set()


async def test_a_service_that_is_done_ends_nothing(client: Client, things: list[str]) -> None:
    manager, stop, seen = Manager(client), asyncio.Event(), []

    async def once() -> None:
        return None

    async def reconcile(key: Key) -> None:
        seen.append(key.name)

    manager.serve(once)
    manager.add(Controller("things", reconcile).watch(manager.informer(THINGS)))
    running = asyncio.create_task(manager.run(stop))
    await until(lambda: len(seen) == 2)
    assert not running.done()
    stop.set()
    await running


async def test_without_controllers_services_run_until_stop(client: Client) -> None:
    manager, stop, began = Manager(client), asyncio.Event(), asyncio.Event()

    async def service() -> None:
        began.set()
        await asyncio.Event().wait()

    manager.serve(service)
    running = asyncio.create_task(manager.run(stop))
    await began.wait()
    await settle()
    assert not running.done()
    stop.set()
    await running


class Stage:
    """An election whose course the test decides."""

    def __init__(self) -> None:
        self.is_leader = False
        self.elected, self.lost, self.released = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def run(self, lead: object) -> None:
        await self.elected.wait()
        self.is_leader = True
        work = asyncio.ensure_future(lead())  # type: ignore[operator]
        lost = asyncio.ensure_future(self.lost.wait())
        try:
            await asyncio.wait({work, lost}, return_when=asyncio.FIRST_COMPLETED)
            if self.lost.is_set():
                raise LeadershipLost("n/l", "other")
        finally:
            work.cancel()
            lost.cancel()
            await asyncio.gather(work, lost, return_exceptions=True)
            self.released.set()


@pytest.mark.parametrize("end", ["stop", "lost", "stop before elected"])
async def test_controllers_run_only_while_elected(client: Client, things: list[str], end: str) -> None:
    stage, stop, seen = Stage(), asyncio.Event(), []
    manager = Manager(client, election=stage)  # type: ignore[arg-type]

    async def reconcile(key: Key) -> None:
        seen.append(key.name)

    manager.add(Controller("things", reconcile).watch(manager.informer(THINGS)))
    running = asyncio.create_task(manager.run(stop))
    await manager.informer(THINGS).wait_synced()
    assert seen == []
    if end == "stop before elected":
        stop.set()
        await running
        assert seen == []
        return
    stage.elected.set()
    await until(lambda: len(seen) == 2)
    (stage.lost if end == "lost" else stop).set()
    if end == "lost":
        with pytest.raises(LeadershipLost):
            await running
    else:
        await running
    assert stage.released.is_set()


async def test_an_unreachable_lease_does_not_keep_a_process_from_stopping(client: Client, things: list[str]) -> None:
    stop = asyncio.Event()
    manager = Manager(client, election=Election(client, "l", "n"))
    running = asyncio.create_task(manager.run(stop))
    await asyncio.sleep(0)
    stop.set()
    async with asyncio.timeout(5):
        await running
