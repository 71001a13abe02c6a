"""Subresources, and the generation that counts changes of what is wanted."""

from wire.kinds import CLAIMS, CONFIG_MAPS, NODES, PODS, claim, config_map, pod
from wire.talker import Conversation, refused


async def test_status_is_written_through_its_subresource_only(case: Conversation) -> None:
    made = await case.create(PODS, pod("one") | {"status": {"message": "at creation"}})
    assert "message" not in made["status"]
    made["status"]["message"] = "by the object"
    assert "message" not in (await case.replace(PODS, made))["status"]
    latest = await case.get(PODS, "one")
    latest["status"]["message"] = "by the status"
    latest["metadata"]["labels"] = {"x": "y"}
    written = await case.replace(PODS, latest, subresource="status")
    assert written["status"]["message"] == "by the status"
    assert (await case.get(PODS, "one", "status"))["status"]["message"] == "by the status"


async def test_a_status_patch_leaves_the_spec(case: Conversation) -> None:
    await case.create(PODS, pod("one"))
    patch = {"spec": {"activeDeadlineSeconds": 60}, "status": {"reason": "Because"}}
    patched = await case.patch(PODS, "one", patch, subresource="status")
    assert patched["status"]["reason"] == "Because"
    assert "activeDeadlineSeconds" not in patched["spec"]


async def test_conditions_are_merged_by_type(case: Conversation) -> None:
    await case.create(PODS, pod("one"))
    for kind, status in (("Ready", "False"), ("Started", "True"), ("Ready", "True")):
        patch = {"status": {"conditions": [{"type": kind, "status": status}]}}
        patched = await case.patch(PODS, "one", patch, "strategic", subresource="status")
    found = {condition["type"]: condition["status"] for condition in patched["status"]["conditions"]}
    assert found == {"Ready": "True", "Started": "True"}


async def test_a_claim_keeps_its_spec_once_it_is_made(case: Conversation) -> None:
    await case.create(CLAIMS, claim("one"))
    with refused("Invalid"):
        await case.patch(CLAIMS, "one", {"spec": {"accessModes": ["ReadWriteMany"]}})
    with refused("Invalid"):
        await case.patch(CLAIMS, "one", {"spec": {"resources": {"requests": {"storage": "2Gi"}}}})
    status = {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}
    assert (await case.patch(CLAIMS, "one", status, subresource="status"))["status"]["phase"] == "Bound"


async def test_a_kind_without_the_subresource_has_none(case: Conversation) -> None:
    await case.create(CONFIG_MAPS, config_map("one"))
    with refused("NotFound"):
        await case.patch(CONFIG_MAPS, "one", {"data": {"a": "1"}}, subresource="status")


async def test_a_node_is_reported_through_its_status(case: Conversation) -> None:
    name = f"node-{case.namespace}"
    await case.create(NODES, {"metadata": {"name": name}, "spec": {"unschedulable": True}})
    capacity = {"status": {"capacity": {"cpu": "4", "memory": "8Gi"}}}
    patched = await case.patch(NODES, name, capacity, subresource="status")
    assert patched["status"]["capacity"] == {"cpu": "4", "memory": "8Gi"}
    await case.delete(NODES, name)
