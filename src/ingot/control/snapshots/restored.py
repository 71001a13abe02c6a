"""A machine made of a snapshot: its spec as it was, on the volumes that were restored."""

import json
from typing import Any

from ingot.api.cdi import clone_rights
from ingot.api.demand import Demand
from ingot.api.kubevirt import rights
from ingot.api.kubevirt.traits import claim_of
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import MACHINES
from ingot.control.snapshots.pointer import apply
from ingot.control.snapshots.words import LAST_RESTORE
from ingot.control.strategy import HALTED, strategy_of
from ingot.kube.objects import copy_of

# What says of a volume how it is used, not what it is.
_OF_ANY_SOURCE = ("name", "accessMode", "copy")


class Impossible(Exception):
    """The restore cannot be done, and will not be; the message says why and what would help."""


def templates_of(machine: Object) -> dict[str, Object]:
    """The templates of a machine's DataVolumes, by their names."""
    return {each["metadata"]["name"]: each for each in machine["spec"].get("dataVolumeTemplates") or ()}


def data_volume_of(volume: Object, machine: Object) -> str:
    """The DataVolume that a machine's volume is, if the machine makes it itself; "" for all others."""
    name = str((volume.get("dataVolume") or {}).get("name", ""))
    return name if name in templates_of(machine) else ""


def machine_from(restore: Object, saved: Object, target: Object | None) -> Object:
    """The target as it is to be: the saved machine, which is new where there is no target. Raises Impossible."""
    restores = {each["volumeName"]: each for each in restore["status"].get("restores") or ()}
    machine = _fresh(restore, saved) if target is None else _replaced(saved, target)
    _move_volumes(machine, saved, restores, keeps_templates=target is not None)
    if target is None:
        _check_new(machine, saved)
        machine = _patched(machine, restore)
    _check_host_disks(machine, target)
    _check_sources(machine, target)
    machine["metadata"].setdefault("annotations", {})[LAST_RESTORE] = uid_of(restore)
    return machine


def _fresh(restore: Object, saved: Object) -> Object:
    given = saved["metadata"]
    machine: Object = {
        "apiVersion": MACHINES.api_version,
        "kind": MACHINES.kind,
        "metadata": {
            "name": restore["spec"]["target"]["name"],
            "namespace": namespace_of(restore),
            "labels": dict(given.get("labels") or {}),
            "annotations": dict(given.get("annotations") or {}),
        },
        "spec": copy_of(saved["spec"]),
    }
    machine["spec"].pop("running", None)
    machine["spec"]["runStrategy"] = HALTED
    return machine


def _replaced(saved: Object, target: Object) -> Object:
    """The target with the saved spec; whether it runs stays its own affair."""
    machine = copy_of(target)
    machine["spec"] = copy_of(saved["spec"])
    machine["spec"].pop("running", None)
    machine["spec"]["runStrategy"] = strategy_of(target)
    if "running" in target["spec"]:
        del machine["spec"]["runStrategy"]
        machine["spec"]["running"] = target["spec"]["running"]
    return machine


def _move_volumes(machine: Object, saved: Object, restores: dict[str, Object], *, keeps_templates: bool) -> None:
    """Let volumes stand on restored claims. A new machine's are claims of its own, whatever they were before."""
    volumes, templates = [], templates_of(machine)
    for volume in machine["spec"]["template"]["spec"].get("volumes") or ():
        made = restores.get(volume["name"])
        former = data_volume_of(volume, saved)
        if made and former and keeps_templates:
            moved = copy_of(templates.pop(former))
            moved["metadata"]["name"] = volume["dataVolume"]["name"] = made["dataVolumeName"]
            templates[made["dataVolumeName"]] = moved
        elif made:
            if former:
                templates.pop(former, None)
            _stand_on(volume, made["persistentVolumeClaim"])
        volumes.append(volume)
    if volumes:
        machine["spec"]["template"]["spec"]["volumes"] = volumes
    machine["spec"].pop("dataVolumeTemplates", None)
    if templates:
        machine["spec"]["dataVolumeTemplates"] = list(templates.values())


def _stand_on(volume: Object, claim: str) -> None:
    """Let a volume stand on a claim, whatever it was before: a disk of a server or of a node becomes one."""
    if not claim_of(volume):
        for word in [each for each in volume if each not in _OF_ANY_SOURCE]:
            del volume[word]
    volume.pop("dataVolume", None)
    # What carried it before may not carry this one.
    volume.pop("driver", None)
    volume.setdefault("persistentVolumeClaim", {})["claimName"] = claim


def _check_new(machine: Object, saved: Object) -> None:
    """A new machine must not stand on what is another's. Raises Impossible."""
    if left := sorted(templates_of(machine)):
        raise Impossible(
            f"DataVolume {', '.join(left)} is not in the snapshot and belongs to VirtualMachine "
            f'"{name_of(saved)}": restore to that machine, or take its volume out and make another snapshot'
        )
    hosts = [each["name"] for each in machine["spec"]["template"]["spec"].get("volumes") or () if "hostDisk" in each]
    if hosts:
        raise Impossible(
            f"volume {', '.join(hosts)} is a file of a node, which a restore does not give to another machine: "
            f'restore to VirtualMachine "{name_of(saved)}"'
        )


def _check_host_disks(machine: Object, target: Object | None) -> None:
    """Nobody gets a file of the node by a restore that the machine has not got now, just so. Raises Impossible.

    It is written in Ingot's name: the right to such files was asked of those who wrote the machine, and may have been
    taken back since.
    """
    if demand := rights.of_machine(machine, target, namespace_of(machine)):
        raise Impossible(
            f"{demand.what}, and the machine has not got it now, or in another way: let one who may use hostdisks put "
            "it there, and make another restore"
        )


def _check_sources(machine: Object, target: Object | None) -> None:
    """Nor does anybody get what the machine clones from another namespace no longer: templates whose volumes go are
    filled anew, in Ingot's name, too. Raises Impossible."""
    asking = clone_rights.of_machine(machine, target, namespace_of(machine))
    demands: list[Demand] = []
    try:
        while True:
            # Where a DataSource leads to was asked of whoever wrote it.
            asking.send(None)
    except StopIteration as asked:
        demands = asked.value
    if demands:
        raise Impossible(
            f"{demands[0].what}, which the machine does not do now: let one with the right to create "
            "datavolumes/source there put the template back, and make another restore"
        )


def _patched(machine: Object, restore: Object) -> Object:
    for index, text in enumerate(restore["spec"].get("patches") or ()):
        operation: dict[str, Any] = json.loads(text)
        try:
            machine = apply(machine, operation)
        except (LookupError, ValueError, TypeError) as error:
            raise Impossible(f"spec.patches[{index}] cannot be applied to the machine: {error}") from error
    return machine
