"""Holding an object's deletion, and letting it go, in one patch each."""

from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resource import Resource
from ingot.api.status import ApiError
from ingot.kube.client import Client
from ingot.kube.objects import has_finalizer


async def hold(client: Client, resource: Resource, obj: Object, *finalizers: str) -> Object:
    """The object, with the finalizers on it. Raises a 409 ApiError when it is no longer what it was."""
    missing = [each for each in finalizers if not has_finalizer(obj, each)]
    return await _write(client, resource, obj, [*_held(obj), *missing]) if missing else obj


async def let_go(client: Client, resource: Resource, obj: Object, *finalizers: str) -> None:
    """Take the finalizers off. An object that is gone by now is fine."""
    if not any(has_finalizer(obj, each) for each in finalizers):
        return
    try:
        await _write(client, resource, obj, [each for each in _held(obj) if each not in finalizers])
    except ApiError as error:
        if error.code != 404:
            raise


def _held(obj: Object) -> list[str]:
    return list(obj["metadata"].get("finalizers") or ())


async def _write(client: Client, resource: Resource, obj: Object, finalizers: list[str]) -> Object:
    metadata = {"resourceVersion": obj["metadata"]["resourceVersion"], "finalizers": finalizers or None}
    return await client.patch(resource, name_of(obj), {"metadata": metadata}, namespace_of(obj))
