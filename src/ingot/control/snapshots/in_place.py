"""Restores in place: claims of the machine are deleted, and others take their names.

No other restore deletes anything before it is complete. So what goes here is the machine's own, all that it is restored
from is there, and it is noted before it goes: a restore that fails afterwards says what was lost.
"""

from collections.abc import Iterable, Mapping
from typing import NoReturn

from ingot.api.cdi.names import PRE_POPULATED
from ingot.api.kubevirt.traits import claim_of
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import DATA_VOLUMES, MACHINE_RESTORES, VOLUME_CLAIMS
from ingot.control.snapshots.restore_status import CREATING
from ingot.control.snapshots.restored import Impossible
from ingot.control.snapshots.restored_claims import is_in_place
from ingot.control.snapshots.target import NotYet
from ingot.control.writing import change, delete, live
from ingot.kube.change import patch_status
from ingot.kube.client import Client
from ingot.kube.objects import controller_of, copy_of, is_deleting

# How often a claim that is being deleted is looked for.
_LEAVING_SECONDS = 1.0


def check_target(restore: Object, machine: Object | None, content: Object) -> None:
    """Only the machine that a snapshot was made of has its claims replaced. Raises Impossible.

    One that is gone may come back on claims of the same names; with no machine to stand on them, none is deleted.
    """
    saved, wanted = content["spec"]["source"]["virtualMachine"], restore["spec"]["target"]["name"]
    is_same = wanted == name_of(saved) and (machine is None or uid_of(machine) == uid_of(saved))
    if is_in_place(restore) and not is_same:
        raise Impossible(
            "spec.volumeRestorePolicy: InPlace replaces the claims of the machine that the snapshot was made of, "
            f'VirtualMachine "{name_of(saved)}" with uid {uid_of(saved)}, and spec.target "{wanted}" is another one: '
            "restore to that machine, or with RandomizeNames or PrefixTargetName to one that does not exist yet"
        )


def check_own(restore: Object, plan: Object, backup: Object, machine: Object | None) -> None:
    """A claim that has the name of one to be restored goes only if it is the one that was saved, and the machine stands
    on it now. Raises Impossible."""
    name, volume = plan["persistentVolumeClaim"], plan["volumeName"]
    shown = f'PersistentVolumeClaim "{name}" exists already and is not the restore\'s'
    if not is_in_place(restore):
        raise Impossible(f"{shown}: delete it, or name another in spec.volumeRestoreOverrides")
    saved = (backup["persistentVolumeClaim"].get("metadata") or {}).get("name", "")
    if name != saved:
        own = f'only the claim that it was saved from, "{saved}", is replaced' if saved else "there is none to replace"
        raise Impossible(f'{shown}, and for volume "{volume}" {own}: name a free one in spec.volumeRestoreOverrides')
    if name not in _claims_of(machine):
        raise Impossible(
            f'{shown}, and VirtualMachine "{restore["spec"]["target"]["name"]}" does not stand on it now: delete it, '
            "or make another restore with spec.volumeRestorePolicy RandomizeNames or PrefixTargetName"
        )


def _claims_of(machine: Object | None) -> set[str]:
    template = machine["spec"]["template"] if machine else {}
    return {claim_of(volume) for volume in (template.get("spec") or {}).get("volumes") or ()} - {""}


async def make_room(client: Client, restore: Object, former: Mapping[str, Object]) -> NoReturn:
    """Delete the claims, by volume, in whose places others are restored. Raises NotYet: they may take time to go."""
    going = {volume: claim for volume, claim in former.items() if not is_deleting(claim)}
    noted = copy_of(restore)
    for plan in noted["status"]["restores"]:
        if plan["volumeName"] in going:
            plan["replacedClaimUID"] = uid_of(going[plan["volumeName"]])
    await patch_status(client, MACHINE_RESTORES, restore, noted)
    for claim in going.values():
        await _keep_empty(client, claim)
        await delete(client, VOLUME_CLAIMS, claim)
    message = f"Waiting for {_shown(map(name_of, former.values()))} to be gone, in whose place others are restored"
    raise NotYet(CREATING, message, _LEAVING_SECONDS)


async def _keep_empty(client: Client, claim: Object) -> None:
    """The DataVolume of a claim that goes is not to fill another in its place."""
    owner = controller_of(claim) or {}
    if owner.get("kind") != DATA_VOLUMES.kind:
        return
    volume = await live(client, DATA_VOLUMES, owner["name"], namespace_of(claim))
    if volume is not None:

        def mark(each: Object) -> None:
            each["metadata"].setdefault("annotations", {})[PRE_POPULATED] = name_of(claim)

        await change(client, DATA_VOLUMES, volume, mark)


async def loss(client: Client, restore: Object) -> str:
    """What a restore that comes to nothing says of the claims that it has deleted; "" where there are none."""
    lost = []
    for plan in (restore.get("status") or {}).get("restores") or ():
        if noted := plan.get("replacedClaimUID"):
            claim = await live(client, VOLUME_CLAIMS, plan["persistentVolumeClaim"], namespace_of(restore))
            if claim is None or is_deleting(claim) or uid_of(claim) != noted:
                lost.append(plan["persistentVolumeClaim"])
    if not lost:
        return ""
    return (
        f"deleted before that, to be restored in place: {_shown(lost)}. What was written since the snapshot is lost; "
        f'another restore from VirtualMachineSnapshot "{restore["spec"]["virtualMachineSnapshotName"]}" brings back '
        "what that holds"
    )


def _shown(names: Iterable[str]) -> str:
    return "PersistentVolumeClaim " + ", ".join(f'"{name}"' for name in names)
