"""The machine that a snapshot is made of: it is held meanwhile, so that neither it nor its claims go."""

from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import MACHINES
from ingot.control.snapshots.words import SOURCE_FINALIZER, restore_of
from ingot.control.writing import change, live
from ingot.kube.change import patch_status
from ingot.kube.client import Client
from ingot.kube.objects import add_finalizer, copy_of, is_deleting, remove_finalizer

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class Hindered(Exception):
    """The machine cannot be held now; the message says why, and what happens next."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


def holder_of(machine: Object) -> str:
    """The name of the snapshot that is being made of the machine, "" if none is."""
    return str((machine.get("status") or {}).get("snapshotInProgress") or "")


async def hold(client: Client, machine: Object, snapshot: Object) -> Object:
    """The machine, held for the snapshot. Raises Hindered."""
    shown = f'VirtualMachine "{name_of(machine)}"'
    if is_deleting(machine):
        raise Hindered("SourceDeleting", f"{shown} is being deleted")
    if other := restore_of(machine):
        message = f'VirtualMachineRestore "{other}" is replacing the disks of {shown}: the snapshot follows once it has'
        raise Hindered("RestoreInProgress", message)
    if holder_of(machine) not in ("", name_of(snapshot)):
        message = f'VirtualMachineSnapshot "{holder_of(machine)}" of {shown} is being made: this one follows'
        raise Hindered("SnapshotInProgress", message)
    machine = await change(client, MACHINES, machine, lambda each: add_finalizer(each, SOURCE_FINALIZER))
    told = copy_of(machine)
    told.setdefault("status", {})["snapshotInProgress"] = name_of(snapshot)
    return await patch_status(client, MACHINES, machine, told)


async def let_go(client: Client, snapshot: Object) -> None:
    """The snapshot is over: its machine is free again, if it was held by this one."""
    machine = await live(client, MACHINES, snapshot["spec"]["source"]["name"], namespace_of(snapshot))
    if machine is None or holder_of(machine) != name_of(snapshot):
        return
    # The finalizer goes first: once the machine names no snapshot, nobody looks for it.
    machine = await change(client, MACHINES, machine, lambda each: remove_finalizer(each, SOURCE_FINALIZER))
    told = copy_of(machine)
    told["status"].pop("snapshotInProgress", None)
    await patch_status(client, MACHINES, machine, told)


def saved(machine: Object) -> Object:
    """The machine as a content keeps it."""
    given = machine["metadata"]
    annotations = {key: text for key, text in (given.get("annotations") or {}).items() if key != _LAST_APPLIED}
    metadata = {
        "name": name_of(machine),
        "namespace": namespace_of(machine),
        "uid": given["uid"],
        "generation": given["generation"],
        "labels": given.get("labels") or {},
        "annotations": annotations,
    }
    return {"metadata": metadata, "spec": machine["spec"]}
