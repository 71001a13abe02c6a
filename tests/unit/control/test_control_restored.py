"""Machines made of snapshots: which spec they have, and on which volumes (F5)."""

import json

import pytest

from ingot.api.object import Object
from ingot.control.snapshots.pointer import apply
from ingot.control.snapshots.restored import Impossible, machine_from
from ingot.control.snapshots.restored_claims import claim_from, planned
from ingot.control.snapshots.words import LAST_RESTORE

VOLUMES = [
    {"name": "root", "dataVolume": {"name": "vm-root"}},
    {"name": "data", "persistentVolumeClaim": {"claimName": "data", "readOnly": True}},
    {"name": "loose", "dataVolume": {"name": "not-from-a-template"}},
    {"name": "seed", "cloudInitNoCloud": {"userData": "#"}},
]


def saved(*volumes: Object, **spec: object) -> Object:
    template = {"metadata": {"name": "vm-root", "labels": {"a": "b"}}, "spec": {"source": {"blank": {}}}}
    return {
        "metadata": {"name": "vm", "namespace": "ns", "uid": "vm-uid", "labels": {"k": "v"}},
        "spec": {
            "runStrategy": "Always",
            "dataVolumeTemplates": [template],
            "template": {"spec": {"volumes": json.loads(json.dumps(volumes or VOLUMES)), "domain": {}}},
            **spec,
        },
    }


def restore(target: str = "vm", *, templates: bool = True, **spec: object) -> Object:
    restores = [
        {"volumeName": each, "persistentVolumeClaim": f"restore-u-{each}", "volumeSnapshotName": f"s-{each}"}
        for each in ("root", "data", "loose")
    ]
    if templates:
        restores[0]["dataVolumeName"] = "restore-u-root"
    return {
        "metadata": {"name": "back", "namespace": "ns", "uid": "u"},
        "spec": {"target": {"name": target}, **spec},
        "status": {"restores": restores},
    }


def target(**spec: object) -> Object:
    metadata = {"name": "vm", "namespace": "ns", "uid": "vm-uid", "resourceVersion": "7"}
    return {"metadata": metadata, "spec": {"runStrategy": "Manual", "template": {"spec": {}}, **spec}}


def test_a_machine_goes_back_to_what_it_was() -> None:
    given = saved()
    made = machine_from(restore(), given, target())
    assert made["metadata"]["resourceVersion"] == "7"
    assert made["metadata"]["annotations"] == {LAST_RESTORE: "u"}
    assert made["spec"]["runStrategy"] == "Manual"
    root, data, loose, seed = made["spec"]["template"]["spec"]["volumes"]
    assert root == {"name": "root", "dataVolume": {"name": "restore-u-root"}}
    assert data == {"name": "data", "persistentVolumeClaim": {"claimName": "restore-u-data", "readOnly": True}}
    assert loose == {"name": "loose", "persistentVolumeClaim": {"claimName": "restore-u-loose"}}
    assert seed == VOLUMES[3]
    assert [each["metadata"]["name"] for each in made["spec"]["dataVolumeTemplates"]] == ["restore-u-root"]
    assert given == saved(), "what was saved is not altered"


def test_whether_it_runs_stays_its_own_affair() -> None:
    halted = target(running=False)
    del halted["spec"]["runStrategy"]
    made = machine_from(restore(), saved(), halted)
    assert made["spec"]["running"] is False
    assert "runStrategy" not in made["spec"]


def test_a_new_machine_stands_on_claims_of_its_own_and_does_not_run() -> None:
    made = machine_from(restore("copy", templates=False), saved(), None)
    assert (made["metadata"]["name"], made["metadata"]["labels"]) == ("copy", {"k": "v"})
    assert made["spec"]["runStrategy"] == "Halted"
    assert "dataVolumeTemplates" not in made["spec"]
    names = [each["persistentVolumeClaim"]["claimName"] for each in made["spec"]["template"]["spec"]["volumes"][:3]]
    assert names == ["restore-u-root", "restore-u-data", "restore-u-loose"]


def test_a_new_machine_takes_nothing_of_the_old_one() -> None:
    given = restore("copy", templates=False)
    del given["status"]["restores"][0]
    with pytest.raises(Impossible, match="vm-root"):
        machine_from(given, saved(), None)
    with pytest.raises(Impossible, match="file of a node"):
        machine_from(restore("copy"), saved({"name": "h", "hostDisk": {"path": "/x"}}, dataVolumeTemplates=[]), None)


def _on_host(**disk: object) -> dict[str, object]:
    """The template of a machine with a file of its node, and how it has it."""
    volume = {"name": "file", "hostDisk": {"path": "/srv/disk.img", "type": "Disk"}}
    domain = {"devices": {"disks": [{"name": "file", **disk}]}}
    return {"template": {"spec": {"volumes": [volume], "domain": domain}}, "dataVolumeTemplates": []}


def test_a_file_of_the_node_comes_back_only_where_the_machine_has_it() -> None:
    """Whoever restores may have no right to it, and it was perhaps taken away for that."""
    given = restore()
    given["status"]["restores"] = []
    had = saved(**_on_host(disk={"bus": "virtio"}))
    with pytest.raises(Impossible, match=r"/srv/disk\.img.*may use hostdisks"):
        machine_from(given, had, target())
    with pytest.raises(Impossible, match="may use hostdisks"):
        machine_from(given, had, target(**_on_host(disk={"bus": "virtio", "readonly": True})))
    made = machine_from(given, had, target(**_on_host(disk={"bus": "virtio"})))
    assert made["spec"]["template"] == had["spec"]["template"]


def test_patches_change_a_new_machine() -> None:
    patches = [{"op": "replace", "path": "/spec/template/spec/domain", "value": {"cpu": {"cores": 2}}}]
    made = machine_from(restore("copy", templates=False, patches=list(map(json.dumps, patches))), saved(), None)
    assert made["spec"]["template"]["spec"]["domain"] == {"cpu": {"cores": 2}}
    wrong = json.dumps({"op": "remove", "path": "/spec/nothing"})
    with pytest.raises(Impossible, match=r"spec\.patches\[0\]"):
        machine_from(restore("copy", templates=False, patches=[wrong]), saved(), None)


@pytest.mark.parametrize(
    ("operation", "after"),
    [
        ({"op": "add", "path": "/a/b", "value": 1}, {"a": {"b": 1}, "l": [1, 2]}),
        ({"op": "add", "path": "/l/-", "value": 3}, {"a": {}, "l": [1, 2, 3]}),
        ({"op": "add", "path": "/l/0", "value": 0}, {"a": {}, "l": [0, 1, 2]}),
        ({"op": "remove", "path": "/l/0"}, {"a": {}, "l": [2]}),
        ({"op": "replace", "path": "/l/1", "value": 5}, {"a": {}, "l": [1, 5]}),
        ({"op": "move", "from": "/l", "path": "/a/m~1~0"}, {"a": {"m/~": [1, 2]}}),
        ({"op": "copy", "from": "/l/0", "path": "/a/c"}, {"a": {"c": 1}, "l": [1, 2]}),
        ({"op": "test", "path": "/l/0", "value": 1}, {"a": {}, "l": [1, 2]}),
    ],
)
def test_an_operation(operation: Object, after: Object) -> None:
    assert apply({"a": {}, "l": [1, 2]}, operation) == after


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/l/0", "value": 2},
        {"op": "replace", "path": "/x", "value": 2},
        {"op": "remove", "path": "/l/2"},
        {"op": "add", "path": "/l/9", "value": 2},
        {"op": "add", "path": "l", "value": 2},
        {"op": "add", "path": "/l/-1", "value": 2},
    ],
)
def test_an_operation_that_cannot_be_done(operation: Object) -> None:
    with pytest.raises((LookupError, ValueError, TypeError)):
        apply({"a": {}, "l": [1, 2]}, operation)


def backup() -> Object:
    annotations = {
        "mine": "kept",
        "pv.kubernetes.io/bind-completed": "yes",
        "cdi.kubevirt.io/storage.pod.phase": "Succeeded",
        "cdi.kubevirt.io/storage.contentType": "archive",
        "volume.kubernetes.io/selected-node": "here",
    }
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "volumeName": "pv",
        "dataSource": {"kind": "PersistentVolumeClaim", "name": "golden"},
        "dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "golden"},
        "resources": {"requests": {"storage": "1Gi"}},
    }
    claim = {"metadata": {"name": "vm-root", "labels": {"a": "b"}, "annotations": annotations}, "spec": spec}
    return {"volumeName": "root", "volumeSnapshotName": "s-root", "persistentVolumeClaim": claim}


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ({}, "restore-u-root"),
        ({"volumeRestorePolicy": "InPlace"}, "vm-root"),
        ({"volumeRestorePolicy": "PrefixTargetName"}, "vm-root"),
        ({"volumeRestoreOverrides": [{"volumeName": "root", "restoreName": "mine"}]}, "mine"),
        ({"volumeRestoreOverrides": [{"volumeName": "other", "restoreName": "mine"}]}, "restore-u-root"),
    ],
)
def test_what_a_restored_claim_is_called(spec: Object, name: str) -> None:
    (plan,) = planned(restore(**spec), {"spec": {"volumeBackups": [backup()]}})
    assert plan == {"volumeName": "root", "persistentVolumeClaim": name, "volumeSnapshotName": "s-root"}


def test_a_restored_claim_comes_from_its_snapshot() -> None:
    override = {"volumeName": "root", "labels": {"l": "1"}, "annotations": {"n": "2"}}
    given = restore(volumeRestoreOverrides=[override])
    given |= {"apiVersion": "v1", "kind": "VirtualMachineRestore"}
    plan = {**given["status"]["restores"][0]}
    made = claim_from(given, plan, backup(), {"status": {"restoreSize": "2Gi"}})
    assert made["metadata"]["labels"] == {"a": "b", "l": "1"}
    assert made["metadata"]["annotations"] == {
        "mine": "kept",
        "n": "2",
        "cdi.kubevirt.io/storage.contentType": "archive",
        "volume.kubernetes.io/selected-node": "here",
        "restore.kubevirt.io/name": "back",
        "cdi.kubevirt.io/storage.populatedFor": "restore-u-root",
    }
    assert made["spec"] == {
        "accessModes": ["ReadWriteOnce"],
        "dataSource": {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s-root"},
        "resources": {"requests": {"storage": "2Gi"}},
    }
    assert made["metadata"]["ownerReferences"][0]["uid"] == "u"


def test_a_clone_of_another_namespace_that_was_taken_away_does_not_come_back() -> None:
    clone = {"metadata": {"name": "vm-root"}, "spec": {"source": {"pvc": {"namespace": "golden", "name": "a"}}}}
    given = saved(dataVolumeTemplates=[clone])
    with pytest.raises(Impossible, match=r'"a" of another namespace.*datavolumes/source'):
        machine_from(restore(), given, target())
    assert machine_from(restore(), given, target(dataVolumeTemplates=[clone]))
    again = {**clone, "metadata": {"name": "restore-before-root"}}
    assert machine_from(restore(), given, target(dataVolumeTemplates=[again])), "after a restore it is called so"
