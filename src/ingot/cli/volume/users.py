"""Who uses a volume: machines that have it as a disk, whether they run or not, and pods."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ingot.api.cdi.names import COMPONENT
from ingot.api.kubevirt import phase
from ingot.api.object import Object, name_of
from ingot.api.resource import Resource
from ingot.api.resources import CLASSIC_VMS, INSTANCES, MACHINES, PODS, REPLICA_SETS
from ingot.api.status import ApiError
from ingot.cli.golden.found import each
from ingot.control.golden.holding import ALL
from ingot.kube.cache import Key
from ingot.kube.objects import controller_of, is_deleting

if TYPE_CHECKING:
    from ingot.cli.connection import Session

_KINDS = (MACHINES, CLASSIC_VMS, REPLICA_SETS, INSTANCES, PODS)
# What `ingot vm` knows by its name.
_MACHINES = (MACHINES, INSTANCES)


@dataclass(frozen=True, slots=True)
class User:
    """An object that would lose a disk. `holds`: the volume stays until it has ended."""

    resource: Resource
    name: str
    holds: bool

    @property
    def cure(self) -> str:
        return f"`ingot vm rm {self.name}`" if self.resource in _MACHINES else f"end {self}"

    def __str__(self) -> str:
        return f'{self.resource.kind} "{self.name}"'


async def find_users(session: "Session", claim: str) -> list[User]:
    """Those of a claim of the session's namespace; none of a kind that one may not see."""
    objects = {resource: await _all(session, resource) for resource in _KINDS}
    return users_of(Key(session.namespace, claim), objects)


def users_of(claim: Key, objects: Mapping[Resource, Iterable[Object]]) -> list[User]:
    """Who uses the claim, of all objects of its namespace by their kinds. What a machine has made is not told beside
    it; pods that fill the volume, or read it for a clone, are no users."""
    reads = dict(ALL)
    return [
        User(resource, name_of(obj), resource in (INSTANCES, PODS))
        for resource in _KINDS
        for obj in objects.get(resource, ())
        if str(claim) in reads[resource](obj) and _counts(resource, obj)
    ]


def _counts(resource: Resource, obj: Object) -> bool:
    if resource == PODS:
        made = (controller_of(obj) or {}).get("kind") == INSTANCES.kind
        return not made and COMPONENT not in (obj["metadata"].get("labels") or {})
    if resource == INSTANCES:
        return not phase.is_final(obj)
    return not is_deleting(obj)


async def _all(session: "Session", resource: Resource) -> list[Object]:
    try:
        return [obj async for obj in each(session, resource, session.namespace)]
    except ApiError as error:
        if error.reason != "Forbidden":
            raise
        return []
