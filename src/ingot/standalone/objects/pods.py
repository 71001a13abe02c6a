"""The subresources of a Pod that act: binding puts it on a node, eviction takes it off."""

from ingot.api.object import Object, name_of
from ingot.api.status import ApiError, bad_request, conflict
from ingot.standalone import fields
from ingot.standalone.objects import deleter, deletion, updater
from ingot.standalone.objects.call import Call
from ingot.standalone.objects.world import World

CREATED: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


async def act(world: World, call: Call, given: Object) -> Object:
    """Answers POST on pods/NAME/binding and pods/NAME/eviction."""
    if name_of(given) != call.name:
        raise bad_request(f"name in URL does not match name in {given['kind']} object")
    if call.subresource == "binding":
        await _bind(world, call, given)
    else:
        await deleter.delete(world, call, deletion.options(given.get("deleteOptions") or {}))
    return CREATED


async def _bind(world: World, call: Call, given: Object) -> None:
    target = given.get("target") or {}
    node = target.get("name", "")
    if not node:
        raise ApiError(500, "", str(fields.required("target.name")))
    if target.get("kind") not in (None, "", "Node"):
        raise ApiError(500, "", str(fields.not_supported("target.kind", target["kind"], ("Node", "<empty>"))))

    def make(pod: Object) -> Object:
        if "deletionTimestamp" in pod["metadata"]:
            raise conflict(
                "", "pods/binding", call.name, f"pod {call.name} is being deleted, cannot be assigned to a host"
            )
        if pod["spec"].get("nodeName"):
            why = f'pod {call.name} is already assigned to node "{pod["spec"]["nodeName"]}"'
            raise conflict("", "pods/binding", call.name, why)
        pod["spec"]["nodeName"] = node
        if added := (given.get("metadata") or {}).get("annotations"):
            pod["metadata"]["annotations"] = {**pod["metadata"].get("annotations", {}), **added}
        _scheduled(pod, call.timestamp)
        return pod

    # The node is nobody's field: who binds a pod does not manage it.
    await updater.change(world, call, make, apply=True)


def _scheduled(pod: Object, now: str) -> None:
    status = pod.setdefault("status", {})
    others = [found for found in status.get("conditions") or () if found["type"] != "PodScheduled"]
    status["conditions"] = [
        *others,
        {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now},
    ]
