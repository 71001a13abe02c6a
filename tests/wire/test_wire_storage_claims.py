"""Nodes that claim one storage at once: never two where one is allowed, and nothing is left behind."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from ingot.api.kubevirt.names import SYSTEM_NAMESPACE
from ingot.api.resources import LEASES, NODES
from ingot.disks.access import OUT_OF_SERVICE, AccessMode, Claims
from ingot.disks.fault import DiskFault
from ingot.disks.holder import LABEL, holders_of
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load

EXCLUSIVE, SHARED, READ = AccessMode.WRITE_EXCLUSIVE, AccessMode.WRITE_SHARED, AccessMode.READ_SHARED


def machine(name: str) -> dict[str, Any]:
    return {"metadata": {"namespace": "default", "name": name, "uid": str(uuid4())}}


@pytest.fixture
async def clients(kubeconfig: Path) -> AsyncIterator[list[Client]]:
    """As many nodes, each with a connection of its own."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(Client.connect(load(kubeconfig))) for _ in range(4)]


@pytest.fixture
async def nodes(clients: list[Client]) -> AsyncIterator[list[Claims]]:
    names = [f"node-{uuid4().hex[:8]}" for _ in clients]
    for name in names:
        await clients[0].create(NODES, {"metadata": {"name": name}})
    yield [Claims(client, name) for client, name in zip(clients, names, strict=True)]
    for lease in await leases(clients[0]):
        await clients[0].delete(LEASES, lease["metadata"]["name"], SYSTEM_NAMESPACE)


async def leases(client: Client) -> list[Any]:
    return (await client.list(LEASES, SYSTEM_NAMESPACE, label_selector=LABEL))["items"]


async def refused(claims: Claims, vmi: Any, identities: set[str], mode: AccessMode, volume: str = "root") -> str:
    """What a claim is refused with; "" for one that is granted."""
    try:
        await claims.claim(vmi, volume, frozenset(identities), mode)
    except DiskFault as fault:
        if (fault.reason, fault.volume) != ("StorageInUse", volume):
            raise
        return fault.message
    return ""


async def test_of_many_that_claim_exclusively_one_wins(nodes: list[Claims]) -> None:
    for _ in range(15):
        vmis = [machine(f"vm-{number}") for number in range(8)]
        # Each pair shares an identity, and none has the same set.
        wanted = [{"iscsi:shared/0", f"nbd:{number}/a", f"zfs:{number}/z"} for number in range(8)]
        told = await asyncio.gather(
            *(refused(nodes[number % 4], vmis[number], wanted[number], EXCLUSIVE) for number in range(8))
        )
        assert told.count("") == 1
        found = await leases(nodes[0].client)
        assert len(found) == 3, "those that were refused have left nothing"
        winner = vmis[told.index("")]["metadata"]["uid"]
        assert {holder.uid for lease in found for holder in holders_of(lease)} == {winner}
        await nodes[3].release(winner)
        assert await leases(nodes[0].client) == []


async def test_all_that_share_get_in_whatever_the_hurry(nodes: list[Claims]) -> None:
    vmis = [machine(f"vm-{number}") for number in range(12)]
    storage = {"rbd:a/p/i", "rbd:b/p/i"}
    told = await asyncio.gather(*(refused(nodes[i % 4], vmi, storage, SHARED) for i, vmi in enumerate(vmis)))
    assert told == [""] * 12
    assert [len(holders_of(lease)) for lease in await leases(nodes[0].client)] == [12, 12]
    await asyncio.gather(*(nodes[i % 4].release(vmi["metadata"]["uid"]) for i, vmi in enumerate(vmis)))
    assert await leases(nodes[0].client) == []


async def test_claims_and_releases_at_once_never_let_two_in(nodes: list[Claims]) -> None:
    inside: Counter[str] = Counter()
    entered = 0

    async def come_and_go(claims: Claims, vmi: Any) -> None:
        nonlocal entered
        for _ in range(25):
            if not await refused(claims, vmi, {"iscsi:one/0", "csi:d/h"}, EXCLUSIVE):
                inside["now"] += 1
                assert inside["now"] == 1
                entered += 1
                await asyncio.sleep(0)
                inside["now"] -= 1
                await claims.release(vmi["metadata"]["uid"])

    await asyncio.gather(*(come_and_go(claims, machine(claims.node)) for claims in nodes))
    assert entered > 0
    assert await leases(nodes[0].client) == []


@pytest.mark.parametrize(
    ("held", "wanted", "allowed"),
    [
        (EXCLUSIVE, EXCLUSIVE, False),
        (EXCLUSIVE, SHARED, False),
        (EXCLUSIVE, READ, False),
        (SHARED, SHARED, True),
        (SHARED, READ, False),
        (READ, READ, True),
    ],
)
async def test_modes_beside_each_other(
    nodes: list[Claims], held: AccessMode, wanted: AccessMode, allowed: bool
) -> None:
    for first, second in ((held, wanted), (wanted, held)):
        one, other = machine("one"), machine("other")
        assert not await refused(nodes[0], one, {"iscsi:x/1", "file:n:/a"}, first)
        message = await refused(nodes[1], other, {"iscsi:x/1", "csi:d/h"}, second, "data")
        assert (message == "") is allowed
        if not allowed:
            for word in ("default/one", nodes[0].node, first, second, "iscsi:x/1", "tried again in 10 s"):
                assert word in message
        await nodes[0].release(one["metadata"]["uid"])
        await nodes[1].release(other["metadata"]["uid"])


async def test_one_machine_and_one_storage_twice(nodes: list[Claims]) -> None:
    vmi = machine("twice")
    uid = vmi["metadata"]["uid"]
    assert not await refused(nodes[0], vmi, {"iscsi:x/1"}, READ, "a")
    assert not await refused(nodes[0], vmi, {"iscsi:x/1"}, READ, "a"), "a claim may be repeated"
    assert not await refused(nodes[0], vmi, {"iscsi:x/1", "nbd:h/e"}, READ, "b")
    assert await nodes[0].held_by(uid) == {"a": frozenset({"iscsi:x/1"}), "b": frozenset({"iscsi:x/1", "nbd:h/e"})}
    message = await refused(nodes[0], vmi, {"iscsi:x/1"}, EXCLUSIVE, "c")
    assert "'a'" in message
    assert "'c'" in message
    await nodes[0].release(uid, keep=frozenset({"nbd:h/e"}))
    assert await nodes[0].held_by(uid) == {"b": frozenset({"nbd:h/e"})}


async def test_claims_of_machines_that_are_no_more_are_collected_by_their_own_node(nodes: list[Claims]) -> None:
    lives, gone, elsewhere = machine("lives"), machine("gone"), machine("elsewhere")
    for claims, vmi in ((nodes[0], lives), (nodes[0], gone), (nodes[1], elsewhere)):
        assert not await refused(claims, vmi, {"file:shared:/a"}, SHARED)
    ended = await nodes[0].collect(frozenset({lives["metadata"]["uid"]}))
    assert len(ended) == 1
    assert "default/gone" in ended[0]
    [lease] = await leases(nodes[0].client)
    assert {holder.name for holder in holders_of(lease)} == {"lives", "elsewhere"}
    assert lease["spec"]["holderIdentity"].count("write-shared") == 2


@pytest.mark.parametrize("how", ["deleted", "out of service"])
async def test_a_node_that_is_certainly_gone_holds_nothing(nodes: list[Claims], how: str) -> None:
    client, dead = nodes[0].client, nodes[1].node
    assert not await refused(nodes[1], machine("victim"), {"iscsi:x/1"}, EXCLUSIVE)
    # A node that does not answer may still run its guests.
    not_ready = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    await client.patch(NODES, dead, {"spec": {"taints": [not_ready]}})
    assert "default/victim" in await refused(nodes[0], machine("heir"), {"iscsi:x/1"}, EXCLUSIVE)
    assert await nodes[2].collect(frozenset()) == []
    if how == "deleted":
        await client.delete(NODES, dead)
    else:
        taint = {"key": OUT_OF_SERVICE, "value": "nodeshutdown", "effect": "NoExecute"}
        await client.patch(NODES, dead, {"spec": {"taints": [taint]}})
    assert not await refused(nodes[0], machine("heir"), {"iscsi:x/1"}, EXCLUSIVE)


async def test_collecting_ends_the_claims_of_a_node_that_is_certainly_gone(nodes: list[Claims]) -> None:
    assert not await refused(nodes[1], machine("victim"), {"iscsi:x/1"}, EXCLUSIVE)
    await nodes[0].client.delete(NODES, nodes[1].node)
    assert len(await nodes[0].collect(frozenset())) == 1
    assert await leases(nodes[0].client) == []
