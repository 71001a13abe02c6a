"""Watches tell every change once, in order, and only what was asked for."""

import asyncio

from wire.kinds import CONFIG_MAPS, PODS, config_map, pod
from wire.talker import Conversation


async def test_a_watch_tells_what_happens_to_an_object(case: Conversation) -> None:
    await case.create(CONFIG_MAPS, config_map("one", a="1"))
    async with case.watch(CONFIG_MAPS, fields="metadata.name=one") as told, asyncio.timeout(20):
        assert (await anext(told))[0] == "ADDED"
        await case.patch(CONFIG_MAPS, "one", {"data": {"a": "2"}})
        kind, changed = await anext(told)
        assert (kind, changed["data"]) == ("MODIFIED", {"a": "2"})
        await case.delete(CONFIG_MAPS, "one")
        assert (await anext(told))[0] == "DELETED"


async def test_objects_enter_and_leave_a_label_selector(case: Conversation) -> None:
    await case.create(CONFIG_MAPS, config_map("one", {"tier": "web"}))
    await case.create(CONFIG_MAPS, config_map("two"))
    async with case.watch(CONFIG_MAPS, labels="tier=web") as told, asyncio.timeout(20):
        assert (await anext(told))[0] == "ADDED"
        await case.patch(CONFIG_MAPS, "one", {"metadata": {"labels": {"tier": "db"}}})
        kind, left = await anext(told)
        assert (kind, left["metadata"]["labels"]) == ("DELETED", {"tier": "web"})
        await case.patch(CONFIG_MAPS, "two", {"metadata": {"labels": {"tier": "web"}}})
        kind, entered = await anext(told)
        assert (kind, entered["metadata"]["name"]) == ("ADDED", "two")


async def test_objects_enter_and_leave_a_field_selector(case: Conversation) -> None:
    await case.create(PODS, pod("one"))
    await case.patch(PODS, "one", {"status": {"phase": "Running"}}, subresource="status")
    async with case.watch(PODS, fields="status.phase=Running") as told, asyncio.timeout(20):
        assert (await anext(told))[0] == "ADDED"
        await case.patch(PODS, "one", {"status": {"phase": "Succeeded"}}, subresource="status")
        assert (await anext(told))[0] == "DELETED"


async def test_a_finalizer_makes_a_deletion_two_events(case: Conversation) -> None:
    held = config_map("one", {"of": "case"})
    held["metadata"]["finalizers"] = ["wire.test/a"]
    await case.create(CONFIG_MAPS, held)
    async with case.watch(CONFIG_MAPS, labels="of=case") as told, asyncio.timeout(20):
        assert (await anext(told))[0] == "ADDED"
        await case.delete(CONFIG_MAPS, "one")
        kind, marked = await anext(told)
        assert (kind, "deletionTimestamp" in marked["metadata"]) == ("MODIFIED", True)
        await case.patch(CONFIG_MAPS, "one", {"metadata": {"finalizers": None}})
        assert (await anext(told))[0] == "DELETED"
