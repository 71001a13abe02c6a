import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest
from aiohttp import web
from kube_faults import EagerClock, FaultServer, answer, until

from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.kube.cache import Key
from ingot.kube.client import Client
from ingot.kube.clock import ManualClock, settle
from ingot.kube.informer import Informer

THINGS = Resource("", "v1", "things", "Thing")
GONE: Object = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}


def thing(name: str, version: int, uid: str = "") -> Object:
    metadata = {"namespace": "n", "name": name, "resourceVersion": str(version), "uid": uid or name}
    return {"metadata": metadata | {"managedFields": [{"manager": "x"}]}}


class Collection:
    """A collection with lists and watches that a test feeds, and can break."""

    def __init__(self, server: FaultServer) -> None:
        self.objects: list[Object] = []
        self.version = 1
        self.lists = 0
        self.list_answers: list[web.Response] = []
        self.watches: list[str] = []
        self.lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        server.handler = self.handle

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.query.get("watch"):
            return await self._watch(request)
        self.lists += 1
        if self.list_answers:
            return self.list_answers.pop(0)
        return answer({"metadata": {"resourceVersion": str(self.version)}, "items": self.objects})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        self.watches.append(request.query["resourceVersion"])
        response = web.StreamResponse()
        await response.prepare(request)
        while (line := await self.lines.get()) is not None:
            if line == b"cut":
                assert request.transport
                request.transport.abort()
                break
            await response.write(line)
        return response

    def tell(self, kind: str, obj: Object) -> None:
        self.lines.put_nowait(msgspec.json.encode({"type": kind, "object": obj}) + b"\n")

    def end(self, cut: bool = False) -> None:
        self.lines.put_nowait(b"cut" if cut else None)


@pytest.fixture
def collection(server: FaultServer) -> Collection:
    return Collection(server)


class Told:
    """A handler that remembers: `+a1` for a creation, `a1>2` for a change, `-a2` for a deletion."""

    def __init__(self) -> None:
        self.log: list[str] = []

    def __call__(self, old: Object | None, new: Object | None) -> None:
        shown = [f"{obj['metadata']['name']}{obj['metadata']['resourceVersion']}" if obj else "" for obj in (old, new)]
        sign = "+" if old is None else "-" if new is None else f"{shown[0]}>"
        self.log.append(sign + (shown[1] or shown[0]))


@asynccontextmanager
async def running(informer: Informer) -> AsyncIterator[Told]:
    told = Told()
    informer.add_handler(told)
    task = asyncio.create_task(informer.run())
    try:
        async with asyncio.timeout(5):
            await informer.wait_synced()
            yield told
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_list_then_watch(collection: Collection, client: Client, eager: EagerClock) -> None:
    collection.objects, collection.version = [thing("a", 1), thing("b", 2)], 5
    informer = Informer(client, THINGS, clock=eager)
    assert not informer.has_synced
    async with running(informer) as told:
        assert informer.has_synced
        assert told.log == ["+a1", "+b2"]
        collection.tell("ADDED", thing("c", 6))
        collection.tell("MODIFIED", thing("a", 7))
        collection.tell("DELETED", thing("b", 8))
        await until(lambda: len(told.log) == 5)
    assert told.log[2:] == ["+c6", "a1>a7", "-b8"]
    assert informer.cache.keys() == {Key("n", "a"), Key("n", "c")}
    assert collection.watches == ["5"]
    cached = informer.cache.get(Key("n", "a"))
    assert cached is not None
    assert "managedFields" not in cached["metadata"]


async def test_a_cut_watch_goes_on_where_it_was(collection: Collection, client: Client, eager: EagerClock) -> None:
    async with running(Informer(client, THINGS, clock=eager)) as told:
        collection.tell("ADDED", thing("a", 6))
        collection.tell("BOOKMARK", {"metadata": {"resourceVersion": "40"}})
        collection.end(cut=True)
        collection.tell("MODIFIED", thing("a", 41))
        await until(lambda: len(told.log) == 2)
    assert collection.watches == ["1", "40"]
    assert collection.lists == 1
    assert told.log == ["+a6", "a6>a41"]


@pytest.mark.parametrize("as_event", [True, False], ids=["event", "status"])
async def test_after_410_nothing_is_lost(
    collection: Collection, client: Client, eager: EagerClock, as_event: bool, server: FaultServer
) -> None:
    collection.objects = [thing("kept", 1), thing("changed", 2), thing("deleted", 3), thing("reborn", 4)]
    informer = Informer(client, THINGS, clock=eager)
    async with running(informer) as told:
        await until(lambda: bool(collection.watches))
        collection.objects = [thing("kept", 1), thing("changed", 9), thing("reborn", 10, "other"), thing("new", 11)]
        collection.version = 12
        if as_event:
            collection.tell("ERROR", GONE)
        else:
            normal = server.handler

            async def gone_once(_: web.Request) -> web.StreamResponse:
                server.handler = normal
                return answer(GONE, 410)

            server.handler = gone_once
            collection.end()
        await until(lambda: len(collection.watches) == 2)
    assert sorted(told.log[4:]) == sorted(["changed2>changed9", "-reborn4", "+reborn10", "+new11", "-deleted3"])
    assert told.log.index("-reborn4") < told.log.index("+reborn10")
    assert collection.watches == ["1", "12"]
    assert informer.cache.get(Key("n", "deleted")) is None


async def test_a_snapshot_that_expires_between_pages_is_taken_whole(
    collection: Collection, client: Client, eager: EagerClock, server: FaultServer
) -> None:
    collection.objects = [thing("a", 1), thing("b", 2)]
    page = {"metadata": {"resourceVersion": "1", "continue": "more"}, "items": [thing("a", 1)]}
    collection.list_answers = [answer(page), answer(GONE, 410)]
    async with running(Informer(client, THINGS, page=1, clock=eager)) as told:
        assert told.log == ["+a1", "+b2"]
    asked = [dict(request.query) for request in server.requests[:3]]
    assert asked == [{"limit": "1"}, {"limit": "1", "continue": "more"}, {}]


async def test_a_server_that_only_refuses_is_asked_less_and_less(
    server: FaultServer, client: Client, eager: EagerClock
) -> None:
    async def refuse(_: web.Request) -> web.StreamResponse:
        return answer(GONE, 410)

    server.handler = refuse
    informer = Informer(client, THINGS, clock=eager)
    task = asyncio.create_task(informer.run())
    await until(lambda: len(eager.slept) > 12)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert not informer.has_synced
    assert eager.slept[1] > eager.slept[0]
    assert 30 <= eager.slept[12] <= 36


async def test_a_list_that_fails_half_way_deletes_nothing(
    collection: Collection, client: Client, eager: EagerClock
) -> None:
    collection.objects = [thing("a", 1), thing("b", 2)]
    informer = Informer(client, THINGS, clock=eager)
    async with running(informer) as told:
        page = {"metadata": {"resourceVersion": "3", "continue": "more"}, "items": [thing("a", 1)]}
        collection.list_answers = [answer(page), web.Response(status=500, text="etcd is away")]
        collection.tell("ERROR", GONE)
        await until(lambda: len(collection.watches) == 2)
        assert told.log == ["+a1", "+b2"]


@pytest.mark.parametrize("bookmarks", [False, True])
async def test_a_watch_that_dies_at_once_does_not_make_a_storm(
    collection: Collection, client: Client, eager: EagerClock, bookmarks: bool
) -> None:
    for number in range(8):
        if bookmarks:
            collection.tell("BOOKMARK", {"metadata": {"resourceVersion": str(number + 2)}})
        collection.end()
    async with running(Informer(client, THINGS, clock=eager)):
        await until(lambda: len(collection.watches) == 9)
    assert eager.slept == sorted(eager.slept)
    assert eager.slept[-1] > 5


async def test_handlers_and_transforms_that_fail_harm_nobody(
    collection: Collection, client: Client, eager: EagerClock, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("broken")

    def transform(obj: Object) -> Object:
        raise RuntimeError("broken")

    collection.objects = [thing("a", 1)]
    informer = Informer(client, THINGS, transform=transform, clock=eager)
    informer.add_handler(broken)
    async with running(informer) as told:
        assert told.log == ["+a1"]
    assert "a handler failed for n/a" in caplog.text
    assert "transform failed for n/a" in caplog.text


async def test_a_late_handler_hears_of_everything(collection: Collection, client: Client, eager: EagerClock) -> None:
    collection.objects = [thing("a", 1)]
    informer = Informer(client, THINGS, clock=eager)
    async with running(informer):
        late = Told()
        informer.add_handler(late)
        assert late.log == ["+a1"]


async def test_resync_tells_everything_again(collection: Collection, client: Client, clock: ManualClock) -> None:
    collection.objects = [thing("a", 1)]
    async with running(Informer(client, THINGS, resync=60, clock=clock)) as told:
        await clock.advance(119)
        assert told.log == ["+a1", "a1>a1"]
        await clock.advance(1)
        assert told.log == ["+a1", "a1>a1", "a1>a1"]


async def test_the_deletion_of_what_was_never_seen_is_nothing(
    collection: Collection, client: Client, eager: EagerClock
) -> None:
    async with running(Informer(client, THINGS, clock=eager)) as told:
        collection.tell("DELETED", thing("x", 2))
        collection.tell("ADDED", thing("y", 3))
        await until(lambda: bool(told.log))
        assert told.log == ["+y3"]


async def test_selectors_are_sent_with_lists_and_watches(
    collection: Collection, client: Client, eager: EagerClock, server: FaultServer
) -> None:
    informer = Informer(client, THINGS, "ns", clock=eager, label_selector="a=b", field_selector="c=d")
    async with running(informer):
        await until(lambda: bool(collection.watches))
    await settle()
    for request in server.requests:
        assert request.path == "/api/v1/namespaces/ns/things"
        assert (request.query["labelSelector"], request.query["fieldSelector"]) == ("a=b", "c=d")
