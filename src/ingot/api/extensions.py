"""Groups whose resources are no stored objects: an extension server answers for them, behind the API server."""

from collections.abc import Callable
from dataclasses import dataclass

from ingot.api.cdi import uploadgroup
from ingot.api.kubevirt import subresources
from ingot.api.object import Object


@dataclass(frozen=True, slots=True)
class Group:
    """A group with the versions that it has, and its documents of discovery: as an item of an APIGroupList, the
    APIResourceList of a version, and as an item of an APIGroupDiscoveryList."""

    name: str
    versions: tuple[str, ...]
    listed: Callable[[], Object]
    resources: Callable[[str], Object]
    aggregated: Callable[[], Object]


GROUPS = (
    Group(
        subresources.GROUP,
        subresources.VERSIONS,
        subresources.group,
        subresources.resources,
        subresources.aggregated_group,
    ),
    Group(
        uploadgroup.GROUP,
        uploadgroup.VERSIONS,
        uploadgroup.group,
        uploadgroup.resources,
        uploadgroup.aggregated_group,
    ),
)
NAMES = frozenset(group.name for group in GROUPS)
# What everybody may read who may read discovery at all.
DOCUMENTS = frozenset(
    path
    for group in GROUPS
    for path in (f"/apis/{group.name}", *(f"/apis/{group.name}/{version}" for version in group.versions))
)
