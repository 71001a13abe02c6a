"""Snapshots of machines and the way back: every rule of KubeVirt's webhooks for them, by name (F5)."""

import json

import pytest
from judge_cdi import make, refusal, stored

from ingot.api import registry
from ingot.api.machinery import resource_of
from ingot.api.resources import MACHINE_RESTORES, MACHINE_SNAPSHOT_CONTENTS, MACHINE_SNAPSHOTS

V1BETA1 = "snapshot.kubevirt.io/v1beta1"
MACHINE = {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "vm"}


def snapshot(source=MACHINE, **spec):
    return make(V1BETA1, "VirtualMachineSnapshot", spec={"source": source, **spec})


def restore(target=MACHINE, **spec):
    filled = {"target": target, "virtualMachineSnapshotName": "snap", "targetReadinessPolicy": "StopTarget", **spec}
    return make(V1BETA1, "VirtualMachineRestore", spec=filled)


def content(**spec):
    return make(V1BETA1, "VirtualMachineSnapshotContent", spec=spec)


def test_a_snapshot_is_stored_as_it_is():
    given = snapshot(deletionPolicy="Retain", failureDeadline="2m30s")
    assert stored(given) == given


def test_a_content_keeps_all_that_a_machine_and_a_claim_say():
    machine = {"metadata": {"labels": {"a": "b"}}, "spec": {"runStrategy": "Always", "template": {"spec": {"any": 1}}}}
    claim = {"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOnce"], "later": {"than": "us"}}}
    backup = {"volumeName": "root", "persistentVolumeClaim": claim, "volumeSnapshotName": "s"}
    given = content(source={"virtualMachine": machine}, volumeBackups=[backup], virtualMachineSnapshotName="snap")
    assert stored(given) == given


def test_a_restore_waits_for_five_minutes_unless_told():
    given = restore()
    del given["spec"]["targetReadinessPolicy"]
    assert stored(given)["spec"]["targetReadinessPolicy"] == "WaitGracePeriod"


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ({"kind": "VirtualMachine", "name": "vm"}, "apiGroup: Required value"),
        ({**MACHINE, "apiGroup": "apps"}, 'apiGroup: Unsupported value: "apps"'),
        ({**MACHINE, "kind": "VirtualMachineInstance"}, "kind: Unsupported value"),
        ({**MACHINE, "name": ""}, "name: Invalid value"),
    ],
)
def test_only_machines_have_snapshots(reference, why):
    assert f"spec.source.{why}" in refusal(snapshot(reference))
    assert f"spec.target.{why}" in refusal(restore(reference))


@pytest.mark.parametrize("given", [snapshot(), restore()], ids=lambda each: each["kind"])
def test_the_spec_cannot_change(given):
    new = registry.copy_json(given)
    next(iter(new["spec"].values()))["name"] = "other"
    assert "spec: spec is immutable after creation" in refusal(new, given)
    new = registry.copy_json(given)
    new["metadata"]["labels"] = {"a": "b"}
    stored(new, given)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"virtualMachineSnapshotName": ""}, "spec.virtualMachineSnapshotName"),
        ({"targetReadinessPolicy": "Never"}, "spec.targetReadinessPolicy: Unsupported value"),
        ({"volumeRestorePolicy": "Never"}, "spec.volumeRestorePolicy: Unsupported value"),
        ({"volumeOwnershipPolicy": "Me"}, "spec.volumeOwnershipPolicy: Unsupported value"),
        ({"volumeRestoreOverrides": [{"restoreName": "a"}]}, "spec.volumeRestoreOverrides[0].volumeName: Required"),
        ({"volumeRestoreOverrides": [{"volumeName": "a"}]}, "spec.volumeRestoreOverrides[0]: Required value: at least"),
        (
            {"volumeRestoreOverrides": [{"volumeName": each, "restoreName": "disk"} for each in "ab"]},
            'spec.volumeRestoreOverrides[1].restoreName: Duplicate value: "disk"',
        ),
        (
            {"volumeRestoreOverrides": [{"volumeName": "a", "restoreName": each} for each in "cd"]},
            'spec.volumeRestoreOverrides[1].volumeName: Duplicate value: "a"',
        ),
    ],
)
def test_restores_that_are_refused(spec, why):
    assert why in refusal(restore(**spec))


@pytest.mark.parametrize(
    "patch",
    [
        {"op": "replace", "path": "/spec/runStrategy", "value": "Halted"},
        {"op": "add", "path": "/metadata/labels/a", "value": "b:c,{d}"},
        {"op": "remove", "path": "/metadata/annotations/a"},
        {"op": "move", "from": "/spec/template/spec/a", "path": "/spec/template/spec/b"},
    ],
)
def test_patches_that_are_accepted(patch):
    stored(restore(patches=[json.dumps(patch)]))


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ("[", "not JSON"),
        ("[]", "one operation of a JSON patch is expected"),
        ('{"op": "merge", "path": "/spec/a"}', "one operation of a JSON patch is expected"),
        ('{"op": "remove"}', "path: only what is below /spec/ or"),
        ('{"op": "replace", "path": "/metadata/name", "value": "a"}', "path: only what is below /spec/ or"),
        ('{"op": "replace", "path": "/metadata/ownerReferences", "value": []}', "path: only what is below"),
        ('{"op": "copy", "from": "/status/a", "path": "/spec/a"}', "from: only what is below"),
        (
            '{"op": "add", "path": "/spec/template/spec/volumes/0/hostDisk", "value": {}}',
            "hostDisk cannot come with a restore",
        ),
        (
            '{"op": "add", "path": "/spec/template/spec/volumes/-", "value": {"name": "a", "hostDisk": {}}}',
            "hostDisk cannot come with a restore",
        ),
        (
            '{"op": "replace", "path": "/spec/template", "value": {"spec": {"volumes": [{"hostDisk": {}}]}}}',
            "hostDisk cannot come with a restore",
        ),
        (
            '{"op": "add", "path": "/spec/dataVolumeTemplates/-", "value": {}}',
            "dataVolumeTemplates cannot come with a restore: restore the machine first",
        ),
    ],
)
def test_patches_that_are_refused(patch, why):
    told = refusal(restore(patches=['{"op": "test", "path": "/spec/a", "value": 1}', patch]))
    assert "spec.patches[1]: Invalid value: " in told
    assert why in told


@pytest.mark.parametrize("resource", [MACHINE_SNAPSHOTS, MACHINE_SNAPSHOT_CONTENTS, MACHINE_RESTORES], ids=str)
def test_they_live_where_the_controllers_look(resource):
    info = registry.find(resource.group, resource.kind)
    assert resource_of(info.shape) == resource
    assert info.status


COLUMNS = {
    "VirtualMachineSnapshot": ["SourceKind", "SourceName", "Phase", "ReadyToUse", "CreationTime", "Error"],
    "VirtualMachineSnapshotContent": ["ReadyToUse", "CreationTime", "Error"],
    "VirtualMachineRestore": ["TargetKind", "TargetName", "Complete", "RestoreTime", "Error"],
}


@pytest.mark.parametrize(("name", "columns"), COLUMNS.items())
def test_columns_are_those_of_kubevirt(name, columns):
    assert [column.name for column in registry.find("snapshot.kubevirt.io", name).columns] == columns
