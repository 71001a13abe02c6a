"""Machines with snapshots, and restores of them."""

from typing import Any

from control.storage_world import Storage
from control.world import machine
from eventual import eventually
from ingot.api.cdi.names import POD_PHASE
from ingot.api.object import Object, uid_of
from ingot.api.resources import (
    DATA_VOLUMES,
    MACHINE_RESTORES,
    MACHINE_SNAPSHOT_CONTENTS,
    MACHINE_SNAPSHOTS,
    MACHINES,
    VOLUME_CLAIMS,
)
from ingot.control.instance import Instances
from ingot.control.machine import Machines
from ingot.control.snapshots.content import SnapshotContents
from ingot.control.snapshots.restore import MachineRestores
from ingot.control.snapshots.snapshot import MachineSnapshots
from ingot.control.volumes.datavolumes import DataVolumes
from ingot.kube.objects import condition, is_deleting, set_controller_reference

DATA = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
ROOT = {"name": "root", "dataVolume": {"name": "vm-root"}}
CONTROLLERS = (Machines, Instances, DataVolumes, MachineSnapshots, SnapshotContents, MachineRestores)


async def saved(
    lab: Storage, strategy: str = "Halted", *, with_template: bool = False, content: Object | None = None
) -> Object:
    """A machine with a snapshot; what is done to it afterwards is what a restore undoes. `content` is that of the
    template's DataVolume, nothing if it is not given."""
    await lab.claim("data")
    volumes, more = [DATA], {}
    if with_template:
        storage = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        spec = {"source": content or {"blank": {}}, "pvc": {**storage, "storageClassName": lab.fast}}
        volumes = [DATA, ROOT]
        more = {"dataVolumeTemplates": [{"metadata": {"name": "vm-root"}, "spec": spec}]}
    made = await lab.create(MACHINES, machine("vm", strategy, *volumes, **more))
    if with_template:
        await lab.provision("vm-root")
        await lab.change(VOLUME_CLAIMS, "vm-root", {"metadata": {"annotations": {POD_PHASE: "Succeeded"}}})
        await lab.until(DATA_VOLUMES, "vm-root", lambda each: (each.get("status") or {}).get("phase") == "Succeeded")
    source = {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "vm"}
    snapshot = await lab.create(MACHINE_SNAPSHOTS, {"metadata": {"name": "snap"}, "spec": {"source": source}})
    for volume in volumes:
        await lab.snapshotted(f"vmsnapshot-{uid_of(snapshot)}-volume-{volume['name']}")
    await lab.until(MACHINE_SNAPSHOTS, "snap", lambda each: (each.get("status") or {}).get("readyToUse"))
    await lab.until(MACHINES, "vm", lambda each: "snapshotInProgress" not in (each.get("status") or {}))
    return made


async def begun(lab: Storage, target: str = "vm", name: str = "back", **spec: Any) -> Object:
    reference = {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": target}
    wanted = {"target": reference, "virtualMachineSnapshotName": "snap", **spec}
    return await lab.create(MACHINE_RESTORES, {"metadata": {"name": name}, "spec": wanted})


async def complete(lab: Storage, name: str = "back") -> Object:
    return await lab.until(MACHINE_RESTORES, name, lambda each: (each.get("status") or {}).get("complete"))


async def failure(lab: Storage, name: str = "back") -> str:
    failed = await lab.until(MACHINE_RESTORES, name, lambda each: condition(each, "Failure"))
    return str((condition(failed, "Failure") or {})["message"])


async def waits(lab: Storage, word: str, name: str = "back") -> Object:
    def told(each: Object) -> bool:
        return word in (condition(each, "Ready") or {}).get("message", "")

    return await lab.until(MACHINE_RESTORES, name, told)


def is_from_snapshot(claim: Object) -> bool:
    return (claim["spec"].get("dataSource") or {}).get("kind") == "VolumeSnapshot"


def claims_of(found: Object) -> dict[str, str]:
    return {
        each["name"]: (each.get("persistentVolumeClaim") or {}).get("claimName") or each["dataVolume"]["name"]
        for each in found["spec"]["template"]["spec"]["volumes"]
    }


async def replacement(lab: Storage, former: Object) -> Object:
    """The claim that is restored in the place of another one, while time goes by."""

    async def look() -> Object | None:
        await lab.pass_time(1.0)
        found = await lab.get(VOLUME_CLAIMS, former["metadata"]["name"])
        return found if uid_of(found) != uid_of(former) else None

    return await eventually(look)


async def standing(lab: Storage) -> dict[str, str]:
    """The uids of the claims that are there to stay, by name."""
    listed = (await lab.client.list(VOLUME_CLAIMS, lab.namespace))["items"]
    return {each["metadata"]["name"]: uid_of(each) for each in listed if not is_deleting(each)}


async def in_places(lab: Storage, name: str, *places: str) -> Object:
    """The restore, complete with claims of these names."""
    for place in places:
        await lab.until(VOLUME_CLAIMS, place, is_from_snapshot)
        await lab.provision(place)
    return await complete(lab, name)


async def copy_instead(lab: Storage, volume: str) -> None:
    """Let the snapshot have a full copy of the volume, in a claim of its own."""
    (content,) = (await lab.client.list(MACHINE_SNAPSHOT_CONTENTS, lab.namespace))["items"]
    backups = content["spec"]["volumeBackups"]
    backup = next(each for each in backups if each["volumeName"] == volume)
    spec = {key: value for key, value in backup["persistentVolumeClaim"]["spec"].items() if key != "volumeName"}
    kept: Object = {"metadata": {"name": "kept", "namespace": lab.namespace}, "spec": spec}
    set_controller_reference(kept, content)
    await lab.create(VOLUME_CLAIMS, kept)
    await lab.bind("kept")
    del backup["volumeSnapshotName"]
    backup["savedClaimName"] = "kept"
    await lab.change(MACHINE_SNAPSHOT_CONTENTS, content["metadata"]["name"], {"spec": {"volumeBackups": backups}})
