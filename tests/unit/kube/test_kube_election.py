import asyncio
from typing import Any, cast

import pytest

from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.status import MODIFIED, already_exists, conflict, not_found
from ingot.kube.client import Client
from ingot.kube.clock import ManualClock, settle
from ingot.kube.election import Election, LeadershipLost
from ingot.kube.objects import copy_of
from ingot.kube.transport import ConnectionFailed


class Leases:
    """One Lease with the server's locking, since a clock that is moved by hand must not wait for a socket."""

    def __init__(self) -> None:
        self.lease: Object | None = None
        self.up = True
        self.hangs = False

    async def _reach(self) -> None:
        if self.hangs:
            await asyncio.Event().wait()
        if not self.up:
            raise ConnectionFailed("https://x", "GET", "/", "refused", "down")

    async def get(self, _: Resource, name: str, namespace: str) -> Object:
        await self._reach()
        if self.lease is None:
            raise not_found("coordination.k8s.io", "leases", name)
        return copy_of(self.lease)

    async def create(self, _: Resource, lease: Object) -> Object:
        await self._reach()
        if self.lease is not None:
            raise already_exists("coordination.k8s.io", "leases", "l")
        return self._store(lease, 1)

    async def replace(self, _: Resource, lease: Object) -> Object:
        await self._reach()
        assert self.lease is not None
        if lease["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
            raise conflict("coordination.k8s.io", "leases", "l", MODIFIED)
        return self._store(lease, int(self.lease["metadata"]["resourceVersion"]) + 1)

    def _store(self, lease: Object, version: int) -> Object:
        self.lease = copy_of(lease)
        self.lease["metadata"]["resourceVersion"] = str(version)
        return copy_of(self.lease)

    @property
    def spec(self) -> Any:
        assert self.lease is not None
        return self.lease["spec"]


class Candidate:
    """Somebody who stands for the Lease and, elected, leads until told to stop."""

    def __init__(self, leases: Leases, clock: ManualClock, name: str) -> None:
        self.election = Election(cast(Client, leases), "l", "n", identity=name, clock=clock)
        self.leading = False
        self.stop = asyncio.Event()
        self.task = asyncio.create_task(self.election.run(self._lead))

    async def _lead(self) -> None:
        self.leading = True
        try:
            await self.stop.wait()
        finally:
            self.leading = False


@pytest.fixture
def leases() -> Leases:
    return Leases()


async def test_the_first_leads_and_the_second_waits(leases: Leases, clock: ManualClock) -> None:
    one = Candidate(leases, clock, "one")
    await settle()
    two = Candidate(leases, clock, "two")
    await clock.advance(300)
    assert (one.leading, two.leading) == (True, False)
    assert two.election.holder == "one"
    assert leases.spec["leaseDurationSeconds"] == 15
    assert leases.spec["leaseTransitions"] == 0
    assert leases.spec["acquireTime"] < leases.spec["renewTime"]
    for candidate in (one, two):
        candidate.task.cancel()
    await asyncio.gather(one.task, two.task, return_exceptions=True)


async def test_a_leader_that_stops_hands_over_at_once(leases: Leases, clock: ManualClock) -> None:
    one = Candidate(leases, clock, "one")
    await settle()
    two = Candidate(leases, clock, "two")
    await settle()
    one.stop.set()
    await one.task
    assert (leases.spec["holderIdentity"], leases.spec["leaseDurationSeconds"]) == ("", 1)
    await clock.advance(5)
    assert two.leading
    assert leases.spec["leaseTransitions"] == 1
    two.task.cancel()
    await asyncio.gather(two.task, return_exceptions=True)
    assert leases.spec["holderIdentity"] == ""


async def test_a_dead_leader_is_replaced_when_its_lease_runs_out(leases: Leases, clock: ManualClock) -> None:
    one = Candidate(leases, clock, "one")
    await settle()
    leases_of_the_dead = copy_of(leases.lease or {})
    one.task.cancel()
    await asyncio.gather(one.task, return_exceptions=True)
    leases.lease = leases_of_the_dead
    two = Candidate(leases, clock, "two")
    await clock.advance(14)
    assert not two.leading
    await clock.advance(6)
    assert two.leading
    assert leases.spec["leaseTransitions"] == 1
    two.stop.set()
    await two.task


@pytest.mark.parametrize("fault", ["up", "hangs"])
async def test_a_leader_without_a_server_stops_before_anyone_else_can_start(
    leases: Leases, clock: ManualClock, fault: str
) -> None:
    one = Candidate(leases, clock, "one")
    await clock.advance(30)
    setattr(leases, fault, fault == "hangs")
    await clock.advance(8)
    assert one.leading
    await clock.advance(6.9)
    assert not one.leading, "others may lead 15 s after the last renewal"
    await clock.advance(20)
    with pytest.raises(LeadershipLost) as lost:
        await one.task
    assert lost.value.lease == "n/l"


async def test_a_short_outage_costs_nothing(leases: Leases, clock: ManualClock) -> None:
    one = Candidate(leases, clock, "one")
    await clock.advance(30)
    leases.up = False
    await clock.advance(5)
    leases.up = True
    await clock.advance(60)
    assert one.leading
    assert leases.spec["leaseTransitions"] == 0
    one.stop.set()
    await one.task


async def test_a_lease_taken_away_ends_leadership_at_once(leases: Leases, clock: ManualClock) -> None:
    one = Candidate(leases, clock, "one")
    await settle()
    thief = copy_of(leases.lease or {})
    thief["spec"]["holderIdentity"] = "thief"
    leases._store(thief, 99)
    await clock.advance(2.5)
    with pytest.raises(LeadershipLost, match='holder "thief"'):
        await one.task
    assert leases.spec["holderIdentity"] == "thief", "the lease of another is not given back"


async def test_of_two_who_race_one_wins(leases: Leases, clock: ManualClock) -> None:
    candidates = [Candidate(leases, clock, f"c{number}") for number in range(5)]
    await clock.advance(30)
    assert sum(candidate.leading for candidate in candidates) == 1
    for candidate in candidates:
        candidate.task.cancel()
    await asyncio.gather(*(candidate.task for candidate in candidates), return_exceptions=True)


async def test_what_the_leader_raises_is_raised_and_the_lease_given_back(leases: Leases, clock: ManualClock) -> None:
    async def crash() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        await Election(cast(Client, leases), "l", "n", clock=clock).run(crash)
    assert leases.spec["holderIdentity"] == ""


def test_times_that_would_allow_two_leaders_are_refused() -> None:
    with pytest.raises(ValueError, match="lease_seconds > renew_seconds"):
        Election(cast(Client, None), "l", "n", lease_seconds=10, renew_seconds=10)
