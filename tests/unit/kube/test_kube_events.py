import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.status import ApiError, forbidden, not_found
from ingot.kube import events
from ingot.kube.client import Client, Patch
from ingot.kube.clock import ManualClock, settle
from ingot.kube.events import Recorder
from ingot.kube.transport import ConnectionFailed

VM: Object = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "web", "namespace": "n", "uid": "u1"},
}


class Sink:
    """The events that a server would hold."""

    def __init__(self) -> None:
        self.events: dict[str, Object] = {}
        self.writes = 0
        self.faults: list[Exception] = []

    def _write(self) -> None:
        self.writes += 1
        if self.faults:
            raise self.faults.pop(0)

    async def create(self, _: Resource, event: Object) -> Object:
        self._write()
        assert event["metadata"]["name"] not in self.events
        self.events[event["metadata"]["name"]] = dict(event)
        return event

    async def patch(self, _: Resource, name: str, patch: Object, namespace: str, *, kind: Patch) -> Object:
        self._write()
        assert kind is Patch.STRATEGIC
        if name not in self.events:
            raise not_found("", "events", name)
        assert self.events[name]["metadata"]["namespace"] == namespace
        self.events[name].update(patch)
        return patch

    def one(self) -> Any:
        (event,) = self.events.values()
        return event


@pytest.fixture
def sink() -> Sink:
    return Sink()


@pytest.fixture
async def recorder(sink: Sink, clock: ManualClock) -> AsyncIterator[Recorder]:
    recorder = Recorder(cast(Client, sink), "ingot", clock=clock, late=0)
    task = asyncio.create_task(recorder.run())
    yield recorder
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_an_event_is_what_kubectl_describe_shows(recorder: Recorder, sink: Sink, clock: ManualClock) -> None:
    recorder.record(VM, "Started", "the guest is up")
    await settle()
    event = sink.one()
    assert event == {
        "metadata": {"name": f"web.{int(clock.time() * 1e9):x}", "namespace": "n"},
        "involvedObject": {
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachine",
            "namespace": "n",
            "name": "web",
            "uid": "u1",
        },
        "type": "Normal",
        "reason": "Started",
        "message": "the guest is up",
        "count": 1,
        "firstTimestamp": "2023-11-14T22:13:20Z",
        "lastTimestamp": "2023-11-14T22:13:20Z",
        "source": {"component": "ingot"},
        "reportingComponent": "ingot",
        "reportingInstance": "",
    }


async def test_the_same_again_is_counted(recorder: Recorder, sink: Sink, clock: ManualClock) -> None:
    for _ in range(3):
        recorder.record(VM, "Failed", "no disk", "Warning")
        await clock.advance(10)
    assert (sink.one()["count"], sink.one()["lastTimestamp"]) == (3, "2023-11-14T22:13:40Z")
    assert sink.one()["firstTimestamp"] == "2023-11-14T22:13:20Z"


async def test_repeats_before_the_first_was_written_are_one_write(recorder: Recorder, sink: Sink) -> None:
    for _ in range(20):
        recorder.record(VM, "Failed", "no disk")
    await settle()
    assert (sink.writes, sink.one()["count"]) == (1, 20)


async def test_many_messages_of_one_reason_share_an_event(recorder: Recorder, sink: Sink) -> None:
    for number in range(14):
        recorder.record(VM, "Failed", f"attempt {number}")
        await settle()
    assert len(sink.events) == 10
    combined = [event for event in sink.events.values() if event["message"].startswith("(combined")]
    assert [(event["message"], event["count"]) for event in combined] == [
        ("(combined from similar events): attempt 13", 5)
    ]


async def test_after_a_quiet_time_messages_stand_alone_again(
    recorder: Recorder, sink: Sink, clock: ManualClock
) -> None:
    for number in range(12):
        recorder.record(VM, "Failed", f"attempt {number}")
        await settle()
    await clock.advance(601)
    recorder.record(VM, "Failed", "something new")
    await settle()
    assert "something new" in [event["message"] for event in sink.events.values()]


async def test_spam_about_one_object_is_bounded_and_does_not_silence_others(
    recorder: Recorder, sink: Sink, clock: ManualClock
) -> None:
    for number in range(500):
        recorder.record(VM, f"Reason{number}", "x")
        await settle()
    assert sink.writes == 25
    assert recorder.dropped == 475
    recorder.record(VM | {"metadata": {"name": "other", "namespace": "n"}}, "Started", "x")
    await settle()
    assert sink.writes == 26
    await clock.advance(300)
    recorder.record(VM, "Again", "x")
    await settle()
    assert sink.writes == 27


async def test_a_flood_never_grows_beyond_its_bounds(sink: Sink, clock: ManualClock) -> None:
    recorder = Recorder(cast(Client, sink), "ingot", clock=clock, late=0)
    for number in range(5000):
        recorder.record(VM | {"metadata": {"name": f"vm{number}", "namespace": "n"}}, "Started", "x" * 5000)
    assert len(recorder._waiting) == events.WAITING
    assert recorder.dropped == 5000 - events.WAITING
    assert len(recorder._known) == len(recorder._buckets) == len(recorder._similar) == events.REMEMBERED


async def test_an_event_that_the_server_forgot_is_made_anew(recorder: Recorder, sink: Sink) -> None:
    recorder.record(VM, "Failed", "no disk")
    await settle()
    sink.events.clear()
    recorder.record(VM, "Failed", "no disk")
    await settle()
    assert sink.one()["count"] == 2


async def test_an_absent_server_is_waited_for(recorder: Recorder, sink: Sink, clock: ManualClock) -> None:
    sink.faults = [ConnectionFailed("https://x", "POST", "/", "refused", "down")] * 3
    recorder.record(VM, "Started", "x")
    await clock.advance(60)
    assert (sink.writes, sink.one()["count"]) == (4, 1)


async def test_a_server_that_stays_away_is_given_up(recorder: Recorder, sink: Sink, clock: ManualClock) -> None:
    sink.faults = [ConnectionFailed("https://x", "POST", "/", "refused", "down")] * events.TRIES
    recorder.record(VM, "Started", "x")
    recorder.record(VM, "Stopped", "x")
    await clock.advance(600)
    assert sink.one()["reason"] == "Stopped"
    assert recorder.dropped == 1


@pytest.mark.parametrize("refusal", [forbidden("", "events", "x", "namespace is terminating"), ApiError(422, "", "")])
async def test_a_refused_event_is_dropped(recorder: Recorder, sink: Sink, refusal: ApiError) -> None:
    sink.faults = [refusal]
    recorder.record(VM, "Stopped", "x")
    recorder.record(VM, "Started", "x")
    await settle()
    assert sink.one()["reason"] == "Started"
    assert recorder.dropped == 1


async def test_names_and_messages_fit(recorder: Recorder, sink: Sink) -> None:
    long = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a" * 235 + "." + "b" * 17}}
    recorder.record(long, "Full", "m" * 5000)
    await settle()
    event = sink.one()
    assert len(event["metadata"]["name"]) <= 253
    assert ".." not in event["metadata"]["name"]
    assert len(event["message"]) == 1024
    assert event["metadata"]["namespace"] == "default"
