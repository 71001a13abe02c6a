"""What is told of workers that are taken away."""

from typing import Any, cast

import pytest

from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.status import ApiError
from ingot.control.volumes.care import Care
from ingot.control.volumes.gate import Gate
from ingot.control.volumes.place import START_SECONDS
from ingot.control.volumes.turns import TURN_SECONDS
from ingot.kube.cache import Cache, Key
from ingot.kube.client import Client
from ingot.kube.clock import ManualClock, timestamp
from unit.control.population import NOW, RUNNING, fill, pod, prime_of, target, to_device


class Deleting:
    """Of a client only this, which fails at first so many times."""

    def __init__(self, failures: int = 0) -> None:
        self.deleted: list[str] = []
        self.failures = failures

    async def delete(self, _resource: Resource, name: str, _namespace: str, **_options: Any) -> None:
        if self.failures:
            self.failures -= 1
            raise ApiError(500, "InternalError", "not now")
        self.deleted.append(name)


@pytest.mark.parametrize(
    ("worker", "then"),
    [
        (pod(**RUNNING), "goes on as far as its source allows"),
        (to_device(**RUNNING), "begins anew, as it fills a device"),
    ],
)
async def test_who_has_had_its_turn_is_told_whether_it_goes_on(worker: Object, then: str) -> None:
    claims, pods, clock, client = Cache(), Cache(), ManualClock(NOW), Deleting()
    gate, key = Gate(claims, pods, Cache(), clock, limit=1), Key("ns", "disk")
    fill(claims, target(), prime_of(target()))
    fill(pods, worker)
    gate.note_progress(key, worker, 0)
    await clock.advance(TURN_SECONDS)
    gate.admit(target("other"))
    step = await Care(cast(Client, client), clock, gate).sent_back(key, worker)
    assert step is not None
    assert step.message == (
        f"it has had one of the 1 places of transfers for long, and others waited: it waits for one, and {then}"
    )
    assert client.deleted == ["importer-prime-uid-disk"]


async def _late(claims: Cache, pods: Cache, clock: ManualClock, gate: Gate) -> Object:
    """The worker of "disk", which has started when "other" had its place."""
    for name in ("disk", "other"):
        fill(claims, target(name), prime_of(target(name)))
    fill(pods, pod("disk", "Pending", state={"waiting": {}}))
    await clock.advance(START_SECONDS)
    assert gate.admit(target("other")) == 0
    late = pod(state={"running": {"startedAt": timestamp(NOW + 40)}})
    fill(pods, late, pod("other", **RUNNING))
    return late


async def test_one_whose_deletion_fails_is_late_once_and_deleted_when_that_is_tried_again() -> None:
    """It was late no more then, and went on as one too many."""
    claims, pods, clock, client = Cache(), Cache(), ManualClock(NOW), Deleting(failures=1)
    gate, key = Gate(claims, pods, Cache(), clock, limit=1), Key("ns", "disk")
    care, late = Care(cast(Client, client), clock, gate), await _late(claims, pods, clock, gate)
    with pytest.raises(ApiError):
        await care.sent_back(key, late)
    assert await care.sent_back(key, late) is not None
    assert client.deleted == ["importer-prime-uid-disk"]
    again = pod("disk", "Pending", state={"waiting": {}})
    again["metadata"].update(uid="uid-again", creationTimestamp=timestamp(clock.time()))
    fill(pods, again)
    pods.drop(Key("ns", "importer-prime-uid-other"))
    await clock.advance(59)
    assert gate.admit(target("next")) == 1, "its place is kept for a minute now"
    await clock.advance(1)
    assert gate.admit(target("next")) == 0


async def test_who_was_late_is_told_that_it_waits_where_it_did() -> None:
    claims, pods, clock, client = Cache(), Cache(), ManualClock(NOW), Deleting()
    gate, key = Gate(claims, pods, Cache(), clock, limit=1), Key("ns", "disk")
    late = await _late(claims, pods, clock, gate)
    step = await Care(cast(Client, client), clock, gate).sent_back(key, late)
    assert step is not None
    assert step.queued
    assert step.message == (
        "it started late, and others have taken the 1 places of transfers meanwhile: it waits for one, where it was in "
        "the queue before"
    )
    assert client.deleted == ["importer-prime-uid-disk"]
