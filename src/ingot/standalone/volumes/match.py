"""Which of the volumes that are there suits a claim."""

from collections.abc import Collection, Iterable

from ingot.api.object import Object, name_of
from ingot.kube.objects import is_deleting
from ingot.standalone.scheduler.amounts import size_of
from ingot.standalone.scheduler.selectors import labels_of, node_selected, selects
from ingot.standalone.volumes.words import class_of, is_meant_for, phase_of, source_of


def mismatch(volume: Object, claim: Object) -> str:
    """Why the volume cannot be what the claim asks for, "" if it can."""
    if capacity_of(volume) < request_of(claim):
        return "requested PV is too small"
    if class_of(volume) != class_of(claim):
        return "storageClassName does not match"
    if volume["spec"].get("volumeMode", "Filesystem") != claim["spec"].get("volumeMode", "Filesystem"):
        return "incompatible volumeMode"
    if not set(claim["spec"].get("accessModes") or ()) <= set(volume["spec"].get("accessModes") or ()):
        return "incompatible accessMode"
    return ""


def find(
    claim: Object,
    volumes: Iterable[Object],
    *,
    node: Object | None = None,
    reserved_only: bool = False,
    without: Collection[str] = (),
) -> Object | None:
    """The volume for the claim: one that is meant for it, else the smallest that fits; None if none does.

    It must be reachable from `node`, if one is given. With `reserved_only` no volume is considered but those that
    name the claim; so it is for a claim with a source, which a volume that happens to fit does not hold. `without`
    names volumes that are spoken for.
    """
    reserved_only = reserved_only or source_of(claim) is not None
    best: Object | None = None
    for volume in volumes:
        if is_deleting(volume) or name_of(volume) in without or mismatch(volume, claim):
            continue
        if node is not None and not reachable(volume, node):
            continue
        if is_meant_for(volume, claim):
            return volume
        if reserved_only or volume["spec"].get("claimRef") or phase_of(volume) != "Available":
            continue
        selector = claim["spec"].get("selector")
        if selector and not selects(selector, labels_of(volume)):
            continue
        if best is None or (capacity_of(volume), name_of(volume)) < (capacity_of(best), name_of(best)):
            best = volume
    return best


def reachable(volume: Object, node: Object) -> bool:
    """Whether pods on the node can have the volume."""
    return node_selected((volume["spec"].get("nodeAffinity") or {}).get("required"), node)


def capacity_of(volume: Object) -> int:
    return size_of((volume["spec"].get("capacity") or {}).get("storage", "0"))


def request_of(claim: Object) -> int:
    requests = (claim["spec"].get("resources") or {}).get("requests") or {}
    return size_of(requests.get("storage", "0"))
