"""The DataVolumes of a machine: made once from its `dataVolumeTemplates`, owned by it, and waited for."""

from collections.abc import Callable

from ingot.api.kubevirt.names import CREATED_BY
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import DATA_VOLUMES
from ingot.api.status import ApiError
from ingot.control.attention import filling_of
from ingot.control.owning import refused
from ingot.control.storage import Storage
from ingot.kube.cache import Key
from ingot.kube.client import Client
from ingot.kube.objects import copy_of, set_controller_reference

_READY = frozenset({"Succeeded"})


def _made(machine: Object, template: Object) -> Object:
    given = template["metadata"]
    made: Object = {
        "apiVersion": DATA_VOLUMES.api_version,
        "kind": DATA_VOLUMES.kind,
        "metadata": {
            "name": given["name"],
            "namespace": namespace_of(machine),
            "labels": {**(given.get("labels") or {}), CREATED_BY: uid_of(machine)},
            "annotations": dict(given.get("annotations") or {}),
        },
        "spec": copy_of(template["spec"]),
    }
    set_controller_reference(made, machine)
    return made


async def ensure(client: Client, storage: Storage, machine: Object, created: Callable[[str], None]) -> bool:
    """Make the DataVolumes that are missing; whether all are filled. Raises InstanceFault where one is refused.

    One whose claim is there has been made before, and has had its day. `created` hears the names of new ones.
    """
    ready = True
    for template in machine["spec"].get("dataVolumeTemplates") or ():
        key = Key(namespace_of(machine), template["metadata"]["name"])
        known = storage.data_volumes.cache.get(key)
        if known is None and storage.claims.cache.get(key) is None:
            await _create(client, _made(machine, template), created)
            ready = False
        elif known is not None:
            ready &= filling_of(known) in _READY
    return ready


def patience(storage: Storage, machine: Object) -> float:
    """Seconds until the next look at DataVolumes that nobody has begun to fill; 0 where there are none.

    Raises InstanceFault for one that has waited too long.
    """
    keys = [Key(namespace_of(machine), each["metadata"]["name"]) for each in machine["spec"]["dataVolumeTemplates"]]
    known = [found for key in keys if (found := storage.data_volumes.cache.get(key))]
    return max((storage.attention.left(each) for each in known), default=0.0)


async def _create(client: Client, wanted: Object, created: Callable[[str], None]) -> None:
    try:
        await client.create(DATA_VOLUMES, wanted)
    except ApiError as error:
        if error.reason == "AlreadyExists":
            return
        raise refused(f'DataVolume "{name_of(wanted)}"', error) from error
    created(name_of(wanted))
