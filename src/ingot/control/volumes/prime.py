"""The prime: a hidden claim that is filled in place of another, which gets its volume in the end."""

from collections.abc import Mapping
from typing import Any

from ingot.api.cdi.names import APP_LABELS, PRIME_FOR, PRIME_PREFIX, SELECTED_NODE, prime_name
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import VOLUME_CLAIMS
from ingot.api.status import ApiError
from ingot.control.owning import REFUSED_SECONDS, is_passing
from ingot.control.volumes import recipe
from ingot.control.volumes.filler import Hindered, Waiting
from ingot.control.volumes.marks import annotation, is_prime
from ingot.control.volumes.outcome import plain
from ingot.control.writing import live
from ingot.kube.cache import key_of
from ingot.kube.client import Client
from ingot.kube.objects import copy_of, is_deleting, set_controller_reference

# Who is to make a claim's volume: what controllers of volumes write, and provisioners look for.
STORAGE_PROVISIONER = "volume.kubernetes.io/storage-provisioner"
OLD_STORAGE_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner"

# What makes one volume as good as another; not what it is filled with, nor which it is.
_COPIED = ("accessModes", "resources", "selector", "storageClassName", "volumeAttributesClassName", "volumeMode")


def is_stale(claim: Object, keep: str) -> bool:
    """Whether a claim is a prime of another target than the one with the uid `keep`."""
    return name_of(claim).startswith(PRIME_PREFIX) and name_of(claim) != f"{PRIME_PREFIX}{keep}"


def prime(
    target: Object,
    source: Object,
    namespace: str,
    *,
    node: str = "",
    provisioner: str = "",
    annotations: Mapping[str, str] | None = None,
    **spec: object,
) -> Object:
    """The prime of a target in a namespace, which is filled from the source; `spec` is added to what it takes from the
    target, `annotations` to its own.

    The target's first consumer decides about the node; where it has none, `node` does, if it is given. The
    `provisioner` is told at once, and not when a controller of volumes comes to it.
    """
    told = {**(annotations or {}), PRIME_FOR: str(key_of(target))}
    if chosen := annotation(target, SELECTED_NODE) or node:
        told[SELECTED_NODE] = chosen
    if provisioner:
        told |= {STORAGE_PROVISIONER: provisioner, OLD_STORAGE_PROVISIONER: provisioner}
    taken = {field: target["spec"][field] for field in _COPIED if field in target["spec"]}
    made: Object = {
        "apiVersion": VOLUME_CLAIMS.api_version,
        "kind": VOLUME_CLAIMS.kind,
        "metadata": {
            "name": prime_name(target),
            "namespace": namespace,
            "labels": dict(APP_LABELS),
            "annotations": told,
        },
        "spec": {**copy_of(taken), **spec},
    }
    recipe.note(made, source)
    if namespace == namespace_of(target):
        set_controller_reference(made, target)
    return made


async def ensure(client: Client, target: Object, source: Object, namespace: str = "", **wishes: Any) -> Object:
    """The prime of the target as the server has it, made if it is not there. Raises Hindered where it cannot be.

    It is in the target's namespace unless another is given; `wishes` are those of `prime`.
    """
    wanted = prime(target, source, namespace or namespace_of(target), **wishes)
    try:
        return await client.create(VOLUME_CLAIMS, wanted)
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise not_made(f'PersistentVolumeClaim "{key_of(wanted)}"', error) from error
    found = await live(client, VOLUME_CLAIMS, name_of(wanted), namespace_of(wanted))
    is_ours = found is not None and is_prime(found, target)
    if found is not None and is_ours and recipe.fits(found, source) and not is_deleting(found):
        return found
    # Where it is ours, and of another source, it is taken away as soon as the cache has it.
    raise in_the_way(f'PersistentVolumeClaim "{key_of(wanted)}"', gone=found is None or is_ours or is_deleting(found))


def not_made(what: str, error: ApiError) -> Hindered:
    """For an object that the server will not take as things are; raises an error that passes."""
    if is_passing(error):
        raise error
    message = f"{what} was refused: {plain(error.message)}; tried again in {REFUSED_SECONDS:g} s"
    return Hindered(Waiting("FailedCreate", message, REFUSED_SECONDS))


def in_the_way(what: str, *, gone: bool) -> Hindered:
    """For an object that has the name of one that is to be made: it goes by itself, or is somebody else's."""
    if gone:
        return Hindered(Waiting("LeftoverEnding", f"{what} of before is still there: tried again", 1.0))
    message = f"{what} is not ours, but has the name that is needed: delete it; tried again"
    return Hindered(Waiting("NameTaken", message, REFUSED_SECONDS))
