"""The DataVolumes of a machine: made once from its `dataVolumeTemplates`, owned by it, and waited for."""

from collections.abc import Callable, Iterable

from ingot.api.cdi.names import IMMEDIATE
from ingot.api.kubevirt.names import CREATED_BY
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import DATA_VOLUMES
from ingot.api.status import ApiError
from ingot.control.owning import refused
from ingot.control.storage import STARTABLE, Storage, filling_of, is_leaving
from ingot.kube.cache import Key
from ingot.kube.client import Client
from ingot.kube.objects import condition, copy_of, set_controller_reference


def _made(machine: Object, template: Object) -> Object:
    given = template["metadata"]
    made: Object = {
        "apiVersion": DATA_VOLUMES.api_version,
        "kind": DATA_VOLUMES.kind,
        "metadata": {
            "name": given["name"],
            "namespace": namespace_of(machine),
            "labels": {**(given.get("labels") or {}), CREATED_BY: uid_of(machine)},
            # It is for this machine: nothing else decides where it is to be, so nothing is gained by waiting.
            "annotations": {IMMEDIATE: "true", **(given.get("annotations") or {})},
        },
        "spec": copy_of(template["spec"]),
    }
    set_controller_reference(made, machine)
    return made


async def ensure(client: Client, storage: Storage, machine: Object, created: Callable[[str], None]) -> bool:
    """Make the DataVolumes that are missing; whether the machine may start. Raises InstanceFault where one is refused.

    One whose claim is there has been made before, and has had its day. `created` hears the names of new ones.
    """
    ready = True
    for template in machine["spec"].get("dataVolumeTemplates") or ():
        key = Key(namespace_of(machine), template["metadata"]["name"])
        known, claim = storage.data_volumes.cache.get(key), storage.claims.cache.get(key)
        if known is not None:
            ready &= filling_of(known) in STARTABLE
        elif claim is None:
            await _create(client, _made(machine, template), created)
            ready = False
        else:
            ready &= not is_leaving(claim)
    return ready


def lacking(data_volumes: Iterable[Object]) -> str:
    """Which DataVolumes are not filled, how far each is, or why it has failed; "" where no machine waits for one."""
    return "; ".join(_state(each) for each in data_volumes if filling_of(each) not in STARTABLE)


def _state(volume: Object) -> str:
    what, filling = f'DataVolume "{name_of(volume)}"', filling_of(volume)
    why = next((text for kind in ("Ready", "Running") if (text := (condition(volume, kind) or {}).get("message"))), "")
    told = f": {why}" if why else ""
    if filling == "Failed":
        return f"{what} has failed{told}. Delete it, and the machine goes on"
    share = str((volume.get("status") or {}).get("progress") or "")
    far = f"{filling or 'not begun'}{f' {share}' if share.endswith('%') else ''}"
    return f"{what} is not filled yet ({far}){told}"


async def _create(client: Client, wanted: Object, created: Callable[[str], None]) -> None:
    try:
        await client.create(DATA_VOLUMES, wanted)
    except ApiError as error:
        if error.reason == "AlreadyExists":
            return
        raise refused(f'DataVolume "{name_of(wanted)}"', error) from error
    created(name_of(wanted))
