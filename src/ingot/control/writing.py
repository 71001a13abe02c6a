"""Small writes that controllers share."""

from collections.abc import Callable
from typing import Unpack

from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resource import Resource
from ingot.api.status import ApiError
from ingot.kube.change import merge_patch
from ingot.kube.client import Client, Deletion
from ingot.kube.objects import copy_of


async def change(client: Client, resource: Resource, obj: Object, mutate: Callable[[Object], object]) -> Object:
    """The object with what `mutate` alters in it; 409 if `obj` is no longer what is there. Not for the status."""
    wanted = copy_of(obj)
    mutate(wanted)
    patch = merge_patch(obj, wanted)
    if not patch:
        return obj
    locked = {**patch.get("metadata", {}), "resourceVersion": obj["metadata"]["resourceVersion"]}
    return await client.patch(resource, name_of(obj), {**patch, "metadata": locked}, namespace_of(obj))


async def live(client: Client, resource: Resource, name: str, namespace: str = "") -> Object | None:
    """The object as the server has it now, for what a cache may be too late for."""
    try:
        return await client.get(resource, name, namespace)
    except ApiError as error:
        if error.code == 404:
            return None
        raise


async def delete(client: Client, resource: Resource, obj: Object, **options: Unpack[Deletion]) -> bool:
    """Delete this very object, not another of its name; whether it was there."""
    options["uid"] = uid_of(obj)
    try:
        await client.delete(resource, name_of(obj), namespace_of(obj), **options)
    except ApiError as error:
        # Another has its name by now. With a version given, it may be the same one, changed: the caller looks again.
        if error.code == 404 or (error.code == 409 and "resource_version" not in options):
            return False
        raise
    return True


def drop_condition(obj: Object, kind: str) -> None:
    """Take a condition away; it says nothing any more."""
    status = obj.get("status") or {}
    if any(each.get("type") == kind for each in status.get("conditions") or ()):
        status["conditions"] = [each for each in status["conditions"] if each.get("type") != kind]
