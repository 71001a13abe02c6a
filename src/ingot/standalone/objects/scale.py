"""The scale subresource: one number of an object, and where it stands."""

from typing import Any

from ingot.api.object import Object
from ingot.api.status import MODIFIED, bad_request, conflict, invalid, path_not_found
from ingot.standalone import fields
from ingot.standalone.objects import updater
from ingot.standalone.objects.body import decode
from ingot.standalone.objects.call import Call
from ingot.standalone.objects.patcher import JSON_PATCH, MERGE_PATCH, STRATEGIC
from ingot.standalone.objects.world import World
from ingot.standalone.patch import json_patch, merge_patch
from ingot.standalone.paths import nested
from ingot.standalone.resources.served import Served


def of(served: Served, obj: Object) -> Object:
    """The `autoscaling/v1 Scale` of an object."""
    paths = served.version.scale
    if paths is None:
        raise path_not_found()
    meta = {
        key: obj["metadata"][key]
        for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        if key in obj["metadata"]
    }
    status: Object = {"replicas": _at(obj, paths.status_replicas) or 0}
    if paths.label_selector and (selector := _at(obj, paths.label_selector)):
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": meta,
        "spec": {"replicas": _at(obj, paths.spec_replicas) or 0},
        "status": status,
    }


async def write(world: World, call: Call, media: str, raw: bytes) -> Object:
    """Sets the number by replacing or patching the Scale."""
    served = call.served
    paths = served.version.scale
    if paths is None:
        raise path_not_found()

    def make(old: Object) -> Object:
        given = _given(call, media, raw, of(served, old))
        replicas = given.get("spec", {}).get("replicas", 0)
        if not isinstance(replicas, int) or isinstance(replicas, bool):
            raise bad_request(f"spec.replicas: {replicas!r} is not a whole number")
        if causes := fields.not_negative("spec.replicas", replicas):
            raise invalid("autoscaling", "Scale", call.name, causes)
        revision = given.get("metadata", {}).get("resourceVersion")
        if revision and revision != old["metadata"]["resourceVersion"]:
            definition = served.definition
            raise conflict(definition.group, definition.plural, call.name, MODIFIED)
        _set(old, paths.spec_replicas, replicas)
        return old

    return of(served, await updater.change(world, call, make))


def _given(call: Call, media: str, raw: bytes, current: Object) -> Object:
    value = decode(raw, "application/json" if call.verb == "patch" else media).value
    if call.verb == "patch":
        media = media.partition(";")[0].strip()
        if media == JSON_PATCH:
            value = json_patch.apply(current, value)
        elif media in (MERGE_PATCH, STRATEGIC):
            value = merge_patch.apply(current, value)
        else:
            raise bad_request(f"a Scale cannot be patched with {media or 'no content type'}")
    if not isinstance(value, dict) or value.get("kind", "Scale") != "Scale":
        raise bad_request("the body of the request must be a Scale")
    return value


def _at(obj: Object, path: str) -> Any:
    return nested(obj, *path.strip(".").split("."))


def _set(obj: Object, path: str, value: Any) -> None:
    *parents, last = path.strip(".").split(".")
    for part in parents:
        obj = obj.setdefault(part, {})
    obj[last] = value
