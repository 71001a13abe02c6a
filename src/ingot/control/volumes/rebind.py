"""The last step: the volume that a prime was filled in becomes that of its target."""

import asyncio

from ingot.api.cdi.names import FILLED_FOR
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import VOLUME_CLAIMS, VOLUMES
from ingot.control.volumes.filler import Hindered, Waiting
from ingot.control.volumes.marks import annotation, phase_of
from ingot.control.volumes.writers import Writers
from ingot.control.writing import live
from ingot.kube.client import Client
from ingot.kube.objects import is_deleting

# How soon what another has changed meanwhile is looked at again.
_SOON_SECONDS = 1.0
# How often a prime that somebody has is looked at: pods come and go without a change of it.
_BUSY_SECONDS = 5.0
_LET_GO = ("Released", "Failed")


async def is_given(client: Client, prime: Object, target: Object) -> bool:
    """Whether the volume that the prime had is the target's by now: a cache may be too late to know."""
    name = prime["spec"].get("volumeName")
    volume = await live(client, VOLUMES, name) if name else None
    return volume is not None and (volume["spec"].get("claimRef") or {}).get("uid") == uid_of(target)


async def is_filled(client: Client, target: Object) -> bool:
    """Whether the volume that a claim is bound to was filled for it, and is not one that happened to suit."""
    volume = await live(client, VOLUMES, target["spec"]["volumeName"])
    return volume is not None and annotation(volume, FILLED_FOR) == uid_of(target)


async def rebind(client: Client, writers: Writers, prime: Object, target: Object, worker: Object | None) -> None:
    """Give the volume of the prime to the target, which is bound by whoever binds claims here. One patch, repeatable.

    Raises Hindered where either is not as it was, and while another than the worker has the prime. It is lost from then
    on. Nothing is lost with a target that vanishes at this moment: its volume is reclaimed as any other whose claim is
    gone.
    """
    name = prime["spec"].get("volumeName")
    if not name:
        raise _not_yet(f'the filled claim "{name_of(prime)}" has no volume')
    volume, found, filled = await asyncio.gather(
        live(client, VOLUMES, name),
        live(client, VOLUME_CLAIMS, name_of(target), namespace_of(target)),
        live(client, VOLUME_CLAIMS, name_of(prime), namespace_of(prime)),
    )
    if volume is None or is_deleting(volume):
        raise _not_yet(f'the volume "{name}" of the filled claim "{name_of(prime)}" is not there')
    holder = (volume["spec"].get("claimRef") or {}).get("uid")
    if holder == uid_of(target):
        return
    if holder != uid_of(prime):
        raise _not_yet(f'the volume "{name}" is bound to another claim than "{name_of(prime)}"')
    # The files of a volume that has been let go of are deleted at any moment, whatever a late cache still shows.
    if filled is None or uid_of(filled) != uid_of(prime) or is_deleting(filled) or phase_of(volume) in _LET_GO:
        raise _not_yet(f'the filled claim "{name_of(prime)}" is gone, and its volume "{name}" with it')
    if found is None or uid_of(found) != uid_of(target) or found["spec"].get("volumeName"):
        raise _not_yet(f'the claim "{name_of(target)}" has changed')
    # No pod has a claim that is not bound. Binders write that into the volume first: what is not written there yet will
    # change the volume, and have the patch refused.
    if "Bound" in (phase_of(filled), phase_of(volume)):
        await _check_unused(writers, prime, name_of(worker) if worker else "")
    change = {
        "metadata": {
            "resourceVersion": volume["metadata"]["resourceVersion"],
            "annotations": {FILLED_FOR: uid_of(target)},
        },
        "spec": {"claimRef": _reference_to(found)},
    }
    await client.patch(VOLUMES, str(name), change)


async def _check_unused(writers: Writers, prime: Object, worker: str) -> None:
    """Raises Hindered while another than its worker has the prime: it could change what was verified, or go on to read
    what the target's owner writes, who may be in another namespace."""
    if user := await writers.users(prime, but=worker):
        message = (
            f'the claim "{name_of(prime)}" is filled, but {user} has it too, and would have its volume still: delete it'
        )
        raise Hindered(Waiting("PrimeInUse", f"{message}; tried again", _BUSY_SECONDS))


def _reference_to(claim: Object) -> Object:
    return {
        "apiVersion": VOLUME_CLAIMS.api_version,
        "kind": VOLUME_CLAIMS.kind,
        "namespace": namespace_of(claim),
        "name": name_of(claim),
        "uid": uid_of(claim),
        "resourceVersion": claim["metadata"]["resourceVersion"],
    }


def _not_yet(why: str) -> Hindered:
    return Hindered(Waiting("RebindInProgress", f"{why}: tried again", _SOON_SECONDS))
