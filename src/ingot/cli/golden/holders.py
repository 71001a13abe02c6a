"""Who holds versions of a golden image, as the server has it now: by the list that the garbage collection goes by."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ingot.api.object import Object, uid_of
from ingot.api.resource import Resource
from ingot.api.resources import DATA_SOURCES, PODS
from ingot.cli.golden.found import Golden, Key, each
from ingot.control.golden.holding import ALL, FAR
from ingot.control.volumes.marks import target_of
from ingot.kube.cache import key_of
from ingot.kube.objects import controller_of, is_deleting

if TYPE_CHECKING:
    from ingot.cli.connection import Session


async def find_holders(session: "Session", golden: Golden, *, far: bool = True) -> dict[Key, str]:
    """As `holders_of`, of all that there is; without `far`, of the image's namespace alone.

    Raises ApiError for who may not see it.
    """
    found: dict[Key, str] = {}
    for resource, _ in ALL:
        namespace = "" if far and resource in FAR else golden.namespace
        objects = [obj async for obj in each(session, resource, namespace)]
        found = holders_of(golden, resource, objects) | found
    return found


def holders_of(golden: Golden, resource: Resource, objects: Iterable[Object]) -> dict[Key, str]:
    """The versions of the image that objects of that kind hold, each with one that does, to be told.

    What is the image's own does not count: its DataSource, and what fills another version of it.
    """
    reads = dict(ALL)[resource]
    versions = {f"{namespace}/{name}": (namespace, name) for namespace, name in (one.key for one in golden.own)}
    found: dict[Key, str] = {}
    for obj in objects:
        held = [versions[claim] for claim in reads(obj) if claim in versions]
        if held and not _is_own(golden, resource, obj):
            found |= dict.fromkeys(held, f'{resource.kind} "{key_of(obj)}"')
    return found


def _is_own(golden: Golden, resource: Resource, obj: Object) -> bool:
    if resource == DATA_SOURCES:
        return key_of(obj) == (golden.namespace, golden.name)
    if resource == PODS and is_deleting(obj):
        # Until it has gone the server keeps the claim anyway.
        return True
    filled = target_of(obj)
    made = {uid_of(part) for one in golden.own for part in (one.volume, one.holder) if part}
    return filled in {one.key for one in golden.own} or (controller_of(obj) or {}).get("uid") in made
