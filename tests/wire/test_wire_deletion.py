"""Deletion: finalizers, grace, and what becomes of those that an object owns."""

from ingot.api.object import Object
from wire.kinds import CONFIG_MAPS, PODS, config_map, pod
from wire.talker import Conversation, refused


def owned(name: str, *owners: Object, block: bool = True) -> Object:
    """A ConfigMap that the owners own, the first as their controller."""
    obj = config_map(name)
    obj["metadata"]["ownerReferences"] = [
        {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "controller": owner is owners[0],
            "blockOwnerDeletion": block,
        }
        for owner in owners
    ]
    return obj


def finalized(name: str, *finalizers: str) -> Object:
    obj = config_map(name)
    obj["metadata"]["finalizers"] = list(finalizers)
    return obj


async def test_a_deleted_object_is_gone(case: Conversation) -> None:
    await case.create(CONFIG_MAPS, config_map("one"))
    await case.delete(CONFIG_MAPS, "one")
    with refused("NotFound"):
        await case.get(CONFIG_MAPS, "one")


async def test_a_finalizer_holds_an_object_until_it_is_removed(case: Conversation) -> None:
    await case.create(CONFIG_MAPS, finalized("one", "wire.test/a", "wire.test/b"))
    await case.delete(CONFIG_MAPS, "one")
    held = await case.get(CONFIG_MAPS, "one")
    assert held["metadata"]["deletionTimestamp"]
    assert held["metadata"]["deletionGracePeriodSeconds"] == 0
    await case.delete(CONFIG_MAPS, "one")
    again = await case.get(CONFIG_MAPS, "one")
    assert again["metadata"]["deletionTimestamp"] == held["metadata"]["deletionTimestamp"]
    await case.patch(CONFIG_MAPS, "one", {"metadata": {"finalizers": ["wire.test/b"]}})
    await case.patch(CONFIG_MAPS, "one", {"metadata": {"finalizers": None}})
    with refused("NotFound"):
        await case.get(CONFIG_MAPS, "one")


async def test_an_object_that_goes_takes_no_new_finalizer(case: Conversation) -> None:
    await case.create(CONFIG_MAPS, finalized("one", "wire.test/a"))
    await case.delete(CONFIG_MAPS, "one")
    with refused("Invalid"):
        await case.patch(CONFIG_MAPS, "one", {"metadata": {"finalizers": ["wire.test/a", "wire.test/b"]}})
    changed = await case.patch(CONFIG_MAPS, "one", {"data": {"a": "1"}})
    assert changed["data"] == {"a": "1"}


async def test_a_finalizer_has_a_qualified_name(case: Conversation) -> None:
    for name in ("", "not a name", "a/b/c"):
        with refused("Invalid"):
            await case.create(CONFIG_MAPS, finalized("one", name))


async def test_dependents_follow_their_owner_in_the_background(case: Conversation) -> None:
    owner = await case.create(CONFIG_MAPS, config_map("owner"))
    await case.create(CONFIG_MAPS, owned("dependent", owner))
    await case.delete(CONFIG_MAPS, "owner", cascade="background")
    with refused("NotFound"):
        await case.get(CONFIG_MAPS, "owner")
    await case.gone(CONFIG_MAPS, "dependent")


async def test_a_foreground_deletion_waits_for_the_dependents(case: Conversation) -> None:
    owner = await case.create(CONFIG_MAPS, config_map("owner"))
    held = owned("dependent", owner)
    held["metadata"]["finalizers"] = ["wire.test/a"]
    await case.create(CONFIG_MAPS, held)
    await case.delete(CONFIG_MAPS, "owner", cascade="foreground")
    waiting = await case.get(CONFIG_MAPS, "owner")
    assert waiting["metadata"]["finalizers"] == ["foregroundDeletion"]
    await case.until(CONFIG_MAPS, "dependent", lambda found: "deletionTimestamp" in found["metadata"])
    await case.patch(CONFIG_MAPS, "dependent", {"metadata": {"finalizers": None}})
    await case.gone(CONFIG_MAPS, "owner")


async def test_a_dependent_that_does_not_block_is_not_waited_for(case: Conversation) -> None:
    owner = await case.create(CONFIG_MAPS, config_map("owner"))
    held = owned("dependent", owner, block=False)
    held["metadata"]["finalizers"] = ["wire.test/a"]
    await case.create(CONFIG_MAPS, held)
    await case.delete(CONFIG_MAPS, "owner", cascade="foreground")
    await case.gone(CONFIG_MAPS, "owner")


async def test_orphans_lose_their_owner_and_stay(case: Conversation) -> None:
    owner = await case.create(CONFIG_MAPS, config_map("owner"))
    await case.create(CONFIG_MAPS, owned("dependent", owner))
    await case.delete(CONFIG_MAPS, "owner", cascade="orphan")
    await case.gone(CONFIG_MAPS, "owner")
    orphan = await case.get(CONFIG_MAPS, "dependent")
    assert "ownerReferences" not in orphan["metadata"]


async def test_an_object_with_two_owners_stays_until_both_are_gone(case: Conversation) -> None:
    first = await case.create(CONFIG_MAPS, config_map("first"))
    second = await case.create(CONFIG_MAPS, config_map("second"))
    await case.create(CONFIG_MAPS, owned("dependent", first, second))
    await case.delete(CONFIG_MAPS, "first")
    left = await case.until(CONFIG_MAPS, "dependent", lambda found: len(found["metadata"]["ownerReferences"]) == 1)
    assert left["metadata"]["ownerReferences"][0]["name"] == "second"
    await case.delete(CONFIG_MAPS, "second")
    await case.gone(CONFIG_MAPS, "dependent")


async def test_an_object_whose_owner_never_was_is_collected(case: Conversation) -> None:
    owner = await case.create(CONFIG_MAPS, config_map("owner"))
    owner["metadata"]["uid"] = "11111111-2222-3333-4444-555555555555"
    await case.create(CONFIG_MAPS, owned("dependent", owner))
    await case.gone(CONFIG_MAPS, "dependent")


async def test_grandchildren_go_as_well(case: Conversation) -> None:
    owner = await case.create(CONFIG_MAPS, config_map("owner"))
    child = await case.create(CONFIG_MAPS, owned("child", owner))
    await case.create(CONFIG_MAPS, owned("grandchild", child))
    await case.delete(CONFIG_MAPS, "owner", cascade="foreground")
    await case.gone(CONFIG_MAPS, "owner")
    with refused("NotFound"):
        await case.get(CONFIG_MAPS, "grandchild")


async def test_an_owner_reference_is_complete_and_has_one_controller(case: Conversation) -> None:
    owner = await case.create(CONFIG_MAPS, config_map("owner"))
    for field in ("apiVersion", "kind", "name", "uid"):
        bad = owned("dependent", owner)
        bad["metadata"]["ownerReferences"][0][field] = ""
        with refused("Invalid"):
            await case.create(CONFIG_MAPS, bad)
    two = owned("dependent", owner, owner)
    two["metadata"]["ownerReferences"][0]["uid"] = "11111111-2222-3333-4444-555555555555"
    for reference in two["metadata"]["ownerReferences"]:
        reference["controller"] = True
    with refused("Invalid"):
        await case.create(CONFIG_MAPS, two)


async def test_a_pod_that_runs_gets_its_grace(case: Conversation) -> None:
    await case.create(PODS, pod("one", nodeName="node-of-nowhere"))
    await case.delete(PODS, "one", grace=40)
    going = await case.get(PODS, "one")
    assert going["metadata"]["deletionGracePeriodSeconds"] == 40
    await case.delete(PODS, "one", grace=20)
    sooner = await case.get(PODS, "one")
    assert sooner["metadata"]["deletionGracePeriodSeconds"] == 20
    await case.delete(PODS, "one", grace=0)
    with refused("NotFound"):
        await case.get(PODS, "one")


async def test_a_pod_without_a_node_goes_at_once(case: Conversation) -> None:
    await case.create(PODS, pod("one"))
    await case.delete(PODS, "one")
    with refused("NotFound"):
        await case.get(PODS, "one")
