"""What stands between a claim and its clone: an object where the origin is, made for one clone and gone after it."""

from collections.abc import Iterable, Mapping

from ingot.api.cdi import names
from ingot.api.object import Object, name_of
from ingot.api.resource import Resource
from ingot.api.status import ApiError
from ingot.control.volumes.marks import annotation
from ingot.control.volumes.prime import in_the_way, not_made
from ingot.control.writing import delete, live
from ingot.kube.cache import Key, key_of
from ingot.kube.client import Client
from ingot.kube.objects import is_deleting


def made_for(obj: Object, prefix: str) -> Iterable[str]:
    """The claim that an object whose name begins so was made for, as an index has it; none for those of others."""
    target = annotation(obj, names.PRIME_FOR) if name_of(obj).startswith(prefix) else ""
    return [target] if target else []


async def make(
    client: Client,
    resource: Resource,
    key: Key,
    target: Object,
    spec: Object,
    annotations: Mapping[str, str] | None = None,
) -> Object:
    """The object of that key as the server has it, made for the target if it is not there. Raises Hindered."""
    made: Object = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {
            "name": key.name,
            "namespace": key.namespace,
            "labels": dict(names.APP_LABELS),
            "annotations": {**(annotations or {}), names.PRIME_FOR: str(key_of(target))},
        },
        "spec": spec,
    }
    try:
        return await client.create(resource, made)
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise not_made(f'{resource.kind} "{key}"', error) from error
    found = await live(client, resource, key.name, key.namespace)
    if found is None:
        raise in_the_way(f'{resource.kind} "{key}"', gone=True)
    return found


async def check(client: Client, resource: Resource, obj: Object, target: Object, *, fits: bool) -> None:
    """Raises Hindered for one that is somebody else's, or is being deleted, and so for one that does not fit, as it is
    of what the target's source named before: that is told to go."""
    is_ours = annotation(obj, names.PRIME_FOR) == str(key_of(target))
    if is_ours and fits and not is_deleting(obj):
        return
    if is_ours and not is_deleting(obj):
        await delete(client, resource, obj)
    raise in_the_way(f'{resource.kind} "{key_of(obj)}"', gone=is_ours or is_deleting(obj))
