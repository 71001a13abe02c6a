"""JSON, merge and strategic merge patches."""

from ingot.api.object import Object
from wire.kinds import CONFIG_MAPS, PODS, config_map, pod
from wire.talker import Conversation, refused


async def test_a_json_patch_does_its_operations_in_order(case: Conversation) -> None:
    await case.create(CONFIG_MAPS, config_map("one", a="1", b="2"))
    operations: list[Object] = [
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "move", "from": "/data/a", "path": "/data/c"},
        {"op": "add", "path": "/metadata/annotations", "value": {"x": "y"}},
        {"op": "copy", "from": "/data/c", "path": "/metadata/annotations/wire.test~1d"},
        {"op": "replace", "path": "/data/b", "value": "3"},
    ]
    patched = await case.patch(CONFIG_MAPS, "one", operations, "json")
    assert patched["data"] == {"b": "3", "c": "1"}
    assert patched["metadata"]["annotations"] == {"x": "y", "wire.test/d": "1"}


async def test_a_json_patch_that_does_not_fit_changes_nothing(case: Conversation) -> None:
    made = await case.create(CONFIG_MAPS, config_map("one", a="1"))
    for operation in (
        {"op": "test", "path": "/data/a", "value": "2"},
        {"op": "remove", "path": "/data/nothing"},
        {"op": "replace", "path": "/nothing/here", "value": "1"},
        {"op": "add", "path": "/nothing/here", "value": "1"},
        {"op": "invent", "path": "/data/a", "value": "1"},
    ):
        with refused("Invalid"):
            await case.patch(CONFIG_MAPS, "one", [{"op": "remove", "path": "/data/a"}, operation], "json")
    assert await case.get(CONFIG_MAPS, "one") == made


async def test_a_json_patch_reaches_into_lists(case: Conversation) -> None:
    await case.create(PODS, pod("one", tolerations=[{"key": "a", "operator": "Exists"}]))
    operations = [{"op": "add", "path": "/spec/tolerations/-", "value": {"key": "b", "operator": "Exists"}}]
    patched = await case.patch(PODS, "one", operations, "json")
    assert [each["key"] for each in patched["spec"]["tolerations"] if len(each["key"]) == 1] == ["a", "b"]


async def test_a_merge_patch_sets_and_takes_away(case: Conversation) -> None:
    await case.create(CONFIG_MAPS, config_map("one", {"x": "y"}, a="1", b="2"))
    patch = {"data": {"a": None, "c": "3"}, "metadata": {"labels": None}}
    patched = await case.patch(CONFIG_MAPS, "one", patch, "merge")
    assert patched["data"] == {"b": "2", "c": "3"}
    assert "labels" not in patched["metadata"]


async def test_a_merge_patch_replaces_a_list(case: Conversation) -> None:
    await case.create(PODS, pod("one"))
    patch = {"metadata": {"finalizers": ["wire.test/a"]}}
    await case.patch(PODS, "one", patch, "merge")
    patched = await case.patch(PODS, "one", {"metadata": {"finalizers": ["wire.test/b"]}}, "merge")
    assert patched["metadata"]["finalizers"] == ["wire.test/b"]


async def test_a_strategic_patch_merges_lists_by_their_key(case: Conversation) -> None:
    await case.create(PODS, pod("one"))
    patch = {"spec": {"containers": [{"name": "main", "image": "registry.test/app:2"}]}}
    patched = await case.patch(PODS, "one", patch, "strategic")
    assert [each["image"] for each in patched["spec"]["containers"]] == ["registry.test/app:2"]
    assert patched["spec"]["containers"][0]["terminationMessagePath"] == "/dev/termination-log"


async def test_a_strategic_patch_keeps_what_a_set_has(case: Conversation) -> None:
    await case.create(CONFIG_MAPS, config_map("one"))
    await case.patch(CONFIG_MAPS, "one", {"metadata": {"finalizers": ["wire.test/a", "wire.test/b"]}}, "strategic")
    patch = {"metadata": {"finalizers": ["wire.test/c"]}}
    patched = await case.patch(CONFIG_MAPS, "one", patch, "strategic")
    assert set(patched["metadata"]["finalizers"]) == {"wire.test/a", "wire.test/b", "wire.test/c"}
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["wire.test/b"]}}
    patched = await case.patch(CONFIG_MAPS, "one", patch, "strategic")
    assert set(patched["metadata"]["finalizers"]) == {"wire.test/a", "wire.test/c"}


async def test_a_strategic_patch_obeys_its_directives(case: Conversation) -> None:
    await case.create(CONFIG_MAPS, config_map("one", {"x": "y"}, a="1", b="2"))
    patched = await case.patch(CONFIG_MAPS, "one", {"data": {"$patch": "replace", "c": "3"}}, "strategic")
    assert patched["data"] == {"c": "3"}
    patched = await case.patch(CONFIG_MAPS, "one", {"metadata": {"labels": {"$patch": "delete"}}}, "strategic")
    assert "labels" not in patched["metadata"]
    with refused("", "unknown patch type: invent in map: map[$patch:invent]"):
        await case.patch(CONFIG_MAPS, "one", {"data": {"$patch": "invent"}}, "strategic")


async def test_a_patch_cannot_rename_or_move_an_object(case: Conversation) -> None:
    await case.create(CONFIG_MAPS, config_map("one"))
    for meta in ({"name": "two"}, {"namespace": "elsewhere"}):
        with refused("BadRequest"):
            await case.patch(CONFIG_MAPS, "one", {"metadata": meta})
    with refused("Invalid"):
        await case.patch(CONFIG_MAPS, "one", {"kind": "Secret"})


async def test_a_patch_may_ask_for_a_version(case: Conversation) -> None:
    made = await case.create(CONFIG_MAPS, config_map("one"))
    version = made["metadata"]["resourceVersion"]
    await case.patch(CONFIG_MAPS, "one", {"data": {"a": "1"}, "metadata": {"resourceVersion": version}})
    with refused("Conflict"):
        await case.patch(CONFIG_MAPS, "one", {"data": {"a": "2"}, "metadata": {"resourceVersion": version}})


async def test_a_patch_that_changes_nothing_keeps_the_version(case: Conversation) -> None:
    made = await case.create(CONFIG_MAPS, config_map("one", a="1"))
    patched = await case.patch(CONFIG_MAPS, "one", {"data": {"a": "1"}})
    assert patched["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_a_patch_is_validated_as_a_whole_object(case: Conversation) -> None:
    await case.create(CONFIG_MAPS, config_map("one"))
    with refused("Invalid"):
        await case.patch(CONFIG_MAPS, "one", {"data": {"not a key": "1"}})
    with refused("Invalid"):
        await case.patch(CONFIG_MAPS, "one", {"data": {"a": 1}})


async def test_most_of_a_pod_is_fixed(case: Conversation) -> None:
    await case.create(PODS, pod("one"))
    with refused("Invalid"):
        await case.patch(PODS, "one", {"spec": {"hostname": "other"}})
    with refused("Invalid"):
        await case.patch(PODS, "one", [{"op": "remove", "path": "/spec/containers"}], "json")
    patched = await case.patch(PODS, "one", {"spec": {"activeDeadlineSeconds": 60}})
    assert patched["spec"]["activeDeadlineSeconds"] == 60
