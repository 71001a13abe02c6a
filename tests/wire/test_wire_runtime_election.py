"""Lease election and event recording against a live API server."""

import asyncio
from contextlib import suppress

import pytest

from eventual import eventually
from ingot.api.object import Object
from ingot.kube.client import Client
from ingot.kube.election import LEASES, Election, LeadershipLost
from ingot.kube.events import EVENTS, Recorder
from wire.kinds import NAMESPACES


class Candidate:
    def __init__(self, client: Client, namespace: str, name: str) -> None:
        self.election = Election(
            client, "lease", namespace, name, lease_seconds=2, renew_seconds=1.0, retry_seconds=0.1
        )
        self.leading = asyncio.Event()
        self.stop = asyncio.Event()
        self.task = asyncio.create_task(self.election.run(self._lead))

    async def _lead(self) -> None:
        self.leading.set()
        try:
            await self.stop.wait()
        finally:
            self.leading.clear()

    async def kill(self) -> None:
        """End as a killed process does: the Lease is not given back."""
        self.election._seen = {}
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task


async def test_leadership_passes_on(client: Client, namespace: str) -> None:
    async with asyncio.timeout(30):
        one = Candidate(client, namespace, "one")
        await one.leading.wait()
        two = Candidate(client, namespace, "two")
        first = await client.get(LEASES, "lease", namespace)
        assert first["spec"]["holderIdentity"] == "one"
        assert first["spec"]["leaseTransitions"] == 0

        one.stop.set()
        await one.task
        await two.leading.wait()
        second = await client.get(LEASES, "lease", namespace)
        assert (second["spec"]["holderIdentity"], second["spec"]["leaseTransitions"]) == ("two", 1)

        three = Candidate(client, namespace, "three")
        await two.kill()
        await three.leading.wait()
        third = await client.get(LEASES, "lease", namespace)
        assert (third["spec"]["holderIdentity"], third["spec"]["leaseTransitions"]) == ("three", 2)
        three.stop.set()
        await three.task


async def test_a_stolen_lease_ends_the_work(client: Client, namespace: str) -> None:
    async with asyncio.timeout(30):
        one = Candidate(client, namespace, "one")
        await one.leading.wait()
        theft: Object = {"spec": {"holderIdentity": "thief", "leaseDurationSeconds": 60}}
        await client.patch(LEASES, "lease", theft, namespace)
        with pytest.raises(LeadershipLost):
            await one.task
    assert not one.leading.is_set()
    assert (await client.get(LEASES, "lease", namespace))["spec"]["holderIdentity"] == "thief"


async def test_events_are_counted_on_the_server(client: Client, namespace: str) -> None:
    whole = await client.get(NAMESPACES, namespace)
    pod: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": namespace, "uid": "u"}}
    recorder = Recorder(client, "tests", host="here")
    running = asyncio.create_task(recorder.run())

    async def counted(where: str, name: str, counts: dict[str, int]) -> bool:
        found = await client.list(EVENTS, where, field_selector=f"involvedObject.name={name}")
        return {event["reason"]: event["count"] for event in found["items"]} == counts

    recorder.record(pod, "Pulled", "image")
    await eventually(lambda: counted(namespace, "p", {"Pulled": 1}))
    recorder.record(pod, "Pulled", "image")
    recorder.record(pod, "Started", "up", "Warning")
    recorder.record(whole, "Noted", "about an object of the whole cluster")
    await eventually(lambda: counted(namespace, "p", {"Pulled": 2, "Started": 1}))
    await eventually(lambda: counted("default", namespace, {"Noted": 1}))
    running.cancel()
