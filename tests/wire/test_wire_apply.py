"""Server-side apply: who owns which fields, and what happens when two want the same."""

from ingot.api.object import Object
from wire.kinds import CONFIG_MAPS, PODS, SERVICES, config_map, pod
from wire.talker import Conversation, refused


def ports(*numbers: int) -> Object:
    listed = [{"name": f"p{number}", "port": number, "protocol": "TCP"} for number in numbers]
    spec = {"clusterIP": "None", "selector": {"app": "web"}, "ports": listed}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "one"}, "spec": spec}


def untyped(case: Conversation, kind: str) -> str:
    return f"failed to create typed patch object ({case.namespace}/one; /v1, Kind={kind})"


async def test_apply_creates_and_owns(case: Conversation) -> None:
    made = await case.apply(CONFIG_MAPS, config_map("one", {"x": "y"}, a="1"), manager="painter")
    entry = made["metadata"]["managedFields"][0]
    assert (entry["manager"], entry["operation"]) == ("painter", "Apply")
    assert entry["fieldsV1"]["f:data"] == {"f:a": {}}


async def test_apply_of_the_same_again_changes_nothing(case: Conversation) -> None:
    first = await case.apply(CONFIG_MAPS, config_map("one", a="1"))
    again = await case.apply(CONFIG_MAPS, config_map("one", a="1"))
    assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


async def test_what_is_left_out_is_taken_away(case: Conversation) -> None:
    await case.apply(CONFIG_MAPS, config_map("one", {"x": "y"}, a="1", b="2"))
    applied = await case.apply(CONFIG_MAPS, config_map("one", a="1"))
    assert applied["data"] == {"a": "1"}
    assert "labels" not in applied["metadata"]


async def test_what_others_own_stays(case: Conversation) -> None:
    await case.apply(CONFIG_MAPS, config_map("one", a="1"), manager="first")
    await case.apply(CONFIG_MAPS, config_map("one", b="2"), manager="second")
    applied = await case.apply(CONFIG_MAPS, config_map("one"), manager="first")
    assert applied["data"] == {"b": "2"}


async def test_a_conflict_names_the_owners_and_their_fields(case: Conversation) -> None:
    await case.apply(CONFIG_MAPS, config_map("one", a="1", b="1"), manager="first")
    with refused("Conflict", 'Apply failed with 1 conflict: conflict with "first": .data.a'):
        await case.apply(CONFIG_MAPS, config_map("one", a="2"), manager="second")
    with refused("Conflict"):
        await case.apply(CONFIG_MAPS, config_map("one", a="2", b="2"), manager="second")
    assert (await case.get(CONFIG_MAPS, "one"))["data"] == {"a": "1", "b": "1"}


async def test_an_update_also_owns(case: Conversation) -> None:
    await case.create(CONFIG_MAPS, config_map("one", a="1"), manager="editor")
    with refused("Conflict"):
        await case.apply(CONFIG_MAPS, config_map("one", a="2"), manager="painter")
    await case.patch(CONFIG_MAPS, "one", {"data": {"b": "1"}}, manager="patcher")
    with refused("Conflict"):
        await case.apply(CONFIG_MAPS, config_map("one", b="2"), manager="painter")


async def test_the_same_value_is_owned_together(case: Conversation) -> None:
    await case.apply(CONFIG_MAPS, config_map("one", a="1"), manager="first")
    shared = await case.apply(CONFIG_MAPS, config_map("one", a="1"), manager="second")
    assert len(shared["metadata"]["managedFields"]) == 2
    left = await case.apply(CONFIG_MAPS, config_map("one"), manager="first")
    assert left["data"] == {"a": "1"}


async def test_force_takes_the_fields_over(case: Conversation) -> None:
    await case.apply(CONFIG_MAPS, config_map("one", a="1", b="1"), manager="first")
    forced = await case.apply(CONFIG_MAPS, config_map("one", a="2"), force=True, manager="second")
    assert forced["data"] == {"a": "2", "b": "1"}
    with refused("Conflict"):
        await case.apply(CONFIG_MAPS, config_map("one", a="1", b="1"), manager="first")


async def test_lists_are_owned_item_by_item(case: Conversation) -> None:
    await case.apply(SERVICES, ports(80), manager="first")
    await case.apply(SERVICES, ports(443), manager="second")
    both = await case.get(SERVICES, "one")
    assert [port["port"] for port in both["spec"]["ports"]] == [80, 443]
    left = await case.apply(SERVICES, ports(443, 8080), manager="second")
    assert [port["port"] for port in left["spec"]["ports"]] == [80, 443, 8080]
    left = await case.apply(SERVICES, ports(8080), manager="second")
    assert [port["port"] for port in left["spec"]["ports"]] == [80, 8080]


async def test_containers_are_merged_by_name(case: Conversation) -> None:
    await case.apply(PODS, pod("one"), manager="first")
    sidecar = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}}
    image = {"spec": {"containers": [{"name": "main", "image": "registry.test/app:2"}]}}
    with refused("Conflict"):
        await case.apply(PODS, {**sidecar, **image}, manager="second")
    applied = await case.apply(PODS, {**sidecar, **image}, force=True, manager="second")
    assert applied["spec"]["containers"][0]["image"] == "registry.test/app:2"


async def test_an_item_named_twice_is_refused(case: Conversation) -> None:
    twice = ports(80)
    twice["spec"]["ports"] *= 2
    with refused("", f'{untyped(case, "Service")}: .spec.ports: duplicate entries for key [port=80,protocol="TCP"]'):
        await case.apply(SERVICES, twice)


async def test_an_unknown_field_cannot_be_owned(case: Conversation) -> None:
    with refused("", f"{untyped(case, 'ConfigMap')}: .surprise: field not declared in schema"):
        await case.apply(CONFIG_MAPS, {**config_map("one"), "surprise": 1})


async def test_a_dry_run_of_an_apply_stores_nothing(case: Conversation) -> None:
    tried = await case.apply(CONFIG_MAPS, config_map("one", a="1"), dry_run=True)
    assert tried["data"] == {"a": "1"}
    with refused("NotFound"):
        await case.get(CONFIG_MAPS, "one")


async def test_apply_on_the_status_leaves_the_rest(case: Conversation) -> None:
    await case.create(PODS, pod("one"))
    status = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, "status": {"message": "hello"}}
    applied = await case.apply(PODS, status, subresource="status", manager="reporter")
    assert applied["status"]["message"] == "hello"
    owner = [entry for entry in applied["metadata"]["managedFields"] if entry["manager"] == "reporter"]
    assert owner[0]["subresource"] == "status"


async def test_managed_fields_may_be_given_up(case: Conversation) -> None:
    await case.apply(CONFIG_MAPS, config_map("one", a="1"), manager="first")
    patched = await case.patch(CONFIG_MAPS, "one", {"metadata": {"managedFields": [{}]}})
    assert "managedFields" not in patched["metadata"]
