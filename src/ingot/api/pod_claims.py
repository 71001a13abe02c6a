"""Which claims a pod has by its volumes."""

from collections.abc import Iterator
from typing import NamedTuple

from ingot.api.object import Object, name_of


class HeldClaim(NamedTuple):
    """A claim that a pod has, the pod's volume that brings it, and whether that is to be read only."""

    claim: str
    volume: str
    read_only: bool


def held_by(pod: Object) -> Iterator[HeldClaim]:
    """The claims that a pod has; an ephemeral volume's claim is named after pod and volume."""
    for volume in pod["spec"].get("volumes") or ():
        if source := volume.get("persistentVolumeClaim"):
            yield HeldClaim(source.get("claimName", ""), volume["name"], bool(source.get("readOnly")))
        elif "ephemeral" in volume:
            yield HeldClaim(f"{name_of(pod)}-{volume['name']}", volume["name"], False)


def claims_of(pod: Object) -> tuple[str, ...]:
    """The names of the claims that a pod has."""
    return tuple(held.claim for held in held_by(pod))
