"""The difference between two objects, and bringing the server's object to the wanted one."""

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any

from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resource import Resource
from ingot.api.status import ApiError
from ingot.kube.client import Client
from ingot.kube.objects import copy_of


def json_patch(old: Any, new: Any) -> list[Object]:
    """RFC 6902 operations that make `new` of `old`, which are JSON values."""
    return list(_operations(old, new, ""))


def _operations(old: Any, new: Any, path: str) -> Iterator[Object]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() - new.keys():
            yield {"op": "remove", "path": f"{path}/{_escaped(key)}"}
        for key, value in new.items():
            here = f"{path}/{_escaped(key)}"
            if key in old:
                yield from _operations(old[key], value, here)
            else:
                yield {"op": "add", "path": here, "value": value}
    elif isinstance(old, list) and isinstance(new, list):
        common = min(len(old), len(new))
        for index in range(common):
            yield from _operations(old[index], new[index], f"{path}/{index}")
        for index in reversed(range(common, len(old))):
            yield {"op": "remove", "path": f"{path}/{index}"}
        for value in new[common:]:
            yield {"op": "add", "path": f"{path}/-", "value": value}
    elif not _equal(old, new):
        yield {"op": "replace", "path": path, "value": new}


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _equal(old: Any, new: Any) -> bool:
    """Equality of JSON: Python takes True for 1, which JSON does not."""
    return type(old) is type(new) and bool(old == new)


def merge_patch(old: Object, new: Object) -> Object:
    """The RFC 7386 patch that makes `new` of `old`; {} if they are the same. Lists are replaced whole."""
    patch: Object = dict.fromkeys(old.keys() - new.keys())
    for key, value in new.items():
        if key not in old:
            patch[key] = value
        elif isinstance(value, dict) and isinstance(old[key], dict):
            if inner := merge_patch(old[key], value):
                patch[key] = inner
        elif json_patch(old[key], value):
            patch[key] = value
    return patch


class Outcome(StrEnum):
    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"


async def create_or_patch(
    client: Client, resource: Resource, obj: Object, mutate: Callable[[Object], None], field_manager: str = ""
) -> tuple[Object, Outcome]:
    """Make the object of `obj`'s name as `mutate` wants it; the object as the server has it now.

    `mutate` alters in place what is there, or `obj` if nothing is, and must be idempotent. Nothing is sent if it
    changes nothing. Whoever wrote in between wins: that is a 409, after which the caller starts over.
    """
    try:
        live = await client.get(resource, name_of(obj), namespace_of(obj))
    except ApiError as error:
        if error.code != 404:
            raise
        wanted = copy_of(obj)
        mutate(wanted)
        return await client.create(resource, wanted, field_manager=field_manager), Outcome.CREATED
    wanted = copy_of(live)
    mutate(wanted)
    patch = merge_patch(live, wanted)
    if not patch:
        return live, Outcome.UNCHANGED
    updated = await client.patch(
        resource, name_of(live), _locked(patch, live), namespace_of(live), field_manager=field_manager
    )
    return updated, Outcome.UPDATED


async def patch_status(client: Client, resource: Resource, old: Object, new: Object) -> Object:
    """Send what `new` changes in the status of `old`, if anything; 409 if `old` is no longer what is there."""
    patch = merge_patch({"status": old.get("status", {})}, {"status": new.get("status", {})})
    if not patch:
        return old
    return await client.patch(resource, name_of(old), _locked(patch, old), namespace_of(old), subresource="status")


def _locked(patch: Object, live: Object) -> Object:
    """The patch, to be refused if the object is not the version that it was made from."""
    metadata = {**patch.get("metadata", {}), "resourceVersion": live["metadata"]["resourceVersion"]}
    return {**patch, "metadata": metadata}
