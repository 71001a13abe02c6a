import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.status import MODIFIED, conflict
from ingot.kube.cache import Key
from ingot.kube.client import Client
from ingot.kube.clock import ManualClock, settle
from ingot.kube.controller import Controller, Final, Observation, Outcome, Result
from ingot.kube.informer import Informer
from ingot.kube.transport import ConnectionFailed

SETS = Resource("apps", "v1", "replicasets", "ReplicaSet")
PODS = Resource("", "v1", "pods", "Pod")
A, B = Key("n", "a"), Key("n", "b")

Script = Callable[[Key], Awaitable[Result | None]]


class Bench:
    """A controller on a clock that stands still, and what it did."""

    def __init__(self, clock: ManualClock, reconcile: Script, workers: int = 1) -> None:
        self.calls: list[Key] = []
        self.seen: list[Observation] = []
        self._reconcile = reconcile
        self.controller = Controller("bench", self.reconcile, workers=workers, clock=clock)
        self.controller.observe = self.seen.append

    async def reconcile(self, key: Key) -> Result | None:
        self.calls.append(key)
        return await self._reconcile(key)

    @property
    def outcomes(self) -> list[Outcome]:
        return [observation.outcome for observation in self.seen]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.controller.run())
        yield
        self.controller.stop()
        await task


async def test_none_means_done(clock: ManualClock) -> None:
    async def fine(_: Key) -> None:
        return None

    bench = Bench(clock, fine)
    bench.controller.queue.add(A)
    async with bench.running():
        await clock.advance(10_000)
    assert bench.calls == [A]
    assert bench.outcomes == [Outcome.DONE]


async def test_a_result_means_again_after_that_time(clock: ManualClock) -> None:
    async def poll(_: Key) -> Result:
        return Result(requeue_after=60)

    bench = Bench(clock, poll)
    bench.controller.queue.add(A)
    async with bench.running():
        await clock.advance(59)
        assert bench.calls == [A]
        await clock.advance(61)
    assert bench.calls == [A, A, A]
    assert set(bench.outcomes) == {Outcome.REQUEUED}


async def test_final_means_not_until_something_changes(clock: ManualClock, caplog: pytest.LogCaptureFixture) -> None:
    async def hopeless(_: Key) -> None:
        raise Final("spec.source: no such protocol")

    bench = Bench(clock, hopeless)
    bench.controller.queue.add(A)
    async with bench.running():
        await clock.advance(10_000)
        assert bench.outcomes == [Outcome.FINAL]
        bench.controller.queue.add(A)
        await clock.advance(1)
    assert bench.calls == [A, A]
    assert "bench: n/a: spec.source: no such protocol; final until it changes" in caplog.text


async def test_an_error_means_again_later_and_later(clock: ManualClock, caplog: pytest.LogCaptureFixture) -> None:
    async def fail_thrice(_: Key) -> None:
        if len(bench.calls) < 4:
            raise RuntimeError("no luck")

    bench = Bench(clock, fail_thrice)
    bench.controller.queue.add(A)
    async with bench.running():
        await clock.advance(1)
    assert bench.outcomes == [Outcome.FAILED] * 3 + [Outcome.DONE]
    assert bench.controller.queue.failures(A) == 0
    assert "bench: n/a: RuntimeError('no luck'); again in 0.005 s" in caplog.text
    assert "again in 0.02 s" in caplog.text


@pytest.mark.parametrize(
    ("error", "level"),
    [
        (conflict("", "pods", "a", MODIFIED), logging.DEBUG),
        (ConnectionFailed("https://x", "GET", "/api", "refused", "no"), logging.WARNING),
        (ZeroDivisionError(), logging.ERROR),
    ],
)
async def test_errors_are_as_loud_as_they_are_surprising(
    clock: ManualClock, caplog: pytest.LogCaptureFixture, error: Exception, level: int
) -> None:
    async def fail_once(_: Key) -> None:
        if len(bench.calls) == 1:
            raise error

    caplog.set_level(logging.DEBUG)
    bench = Bench(clock, fail_once)
    bench.controller.queue.add(A)
    async with bench.running():
        await clock.advance(1)
    (record,) = [record for record in caplog.records if record.name == "ingot.kube.controller"]
    assert record.levelno == level
    assert bool(record.exc_info) == (level == logging.ERROR)


async def test_workers_work_side_by_side_but_never_on_one_key(clock: ManualClock) -> None:
    gate = asyncio.Event()

    async def wait(_: Key) -> None:
        await gate.wait()

    bench = Bench(clock, wait, workers=2)
    for key in (A, B, A):
        bench.controller.queue.add(key)
    async with bench.running():
        await settle()
        bench.controller.queue.add(A)
        await settle()
        assert bench.calls == [A, B]
        gate.set()
        await settle()
    assert bench.calls == [A, B, A]


async def test_stop_lets_the_begun_finish(clock: ManualClock) -> None:
    gate = asyncio.Event()

    async def wait(_: Key) -> None:
        await gate.wait()

    bench = Bench(clock, wait)
    bench.controller.queue.add(A)
    bench.controller.queue.add(B)
    task = asyncio.create_task(bench.controller.run())
    await settle()
    bench.controller.stop()
    await settle()
    assert not task.done()
    gate.set()
    await task
    assert bench.calls == [A]
    assert bench.outcomes == [Outcome.DONE]


def pod(name: str, owner: Object | None = None) -> Object:
    references = [owner] if owner else []
    return {"metadata": {"namespace": "n", "name": name, "ownerReferences": references, "uid": name}}


@pytest.fixture
def informer(client: Client) -> Informer:
    return Informer(client, PODS)


def ready_keys(controller: Controller) -> list[Key]:
    return list(controller.queue._ready)


async def idle(_: Key) -> None:
    return None


async def test_changes_wake_the_object_its_controller_and_whom_a_mapper_names(informer: Informer) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}
    own = Controller("own", idle).own(informer, SETS)
    itself = Controller("itself", idle).watch(informer)
    mapped = Controller("mapped", idle).watch(informer, lambda obj: [Key("", f"node-of-{obj['metadata']['name']}")])
    informer._tell_each(None, pod("web-1", owner))
    informer._tell_each(None, pod("stray"))
    informer._tell_each(None, pod("foreign", owner | {"apiVersion": "other/v1", "name": "x"}))
    informer._tell_each(None, pod("not-controlled", owner | {"controller": False, "name": "y"}))
    assert ready_keys(own) == [Key("n", "web")]
    assert ready_keys(itself)[:2] == [Key("n", "web-1"), Key("n", "stray")]
    assert ready_keys(mapped)[:2] == [Key("", "node-of-web-1"), Key("", "node-of-stray")]


async def test_the_old_and_the_new_owner_hear_of_an_adoption(informer: Informer) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "old", "uid": "u", "controller": True}
    controller = Controller("own", idle).own(informer, SETS)
    informer._tell_each(pod("x", owner), pod("x", owner | {"name": "new"}))
    assert ready_keys(controller) == [Key("n", "old"), Key("n", "new")]


async def test_owners_of_the_whole_cluster_have_no_namespace(informer: Informer) -> None:
    nodes = Resource("", "v1", "nodes", "Node", namespaced=False)
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u", "controller": True}
    controller = Controller("own", idle).own(informer, nodes)
    informer._tell_each(None, pod("x", owner))
    assert ready_keys(controller) == [Key("", "n1")]
