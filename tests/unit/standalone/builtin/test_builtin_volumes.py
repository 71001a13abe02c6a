"""Claims, volumes and where volumes come from."""

from collections.abc import Callable
from typing import Any

import pytest

Make = Callable[[str], Any]
CLAIM = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}}
VOLUME = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}
IMMUTABLE = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"


def claim(**spec: Any) -> dict[str, Any]:
    return {"spec": {**CLAIM["spec"], **spec}}


def volume(**spec: Any) -> dict[str, Any]:
    return {"spec": {**VOLUME, **spec}}


def bound(obj: dict[str, Any], size: str) -> None:
    obj["status"] = {"phase": "Bound", "capacity": {"storage": "2Gi"}}
    obj["spec"]["resources"]["requests"]["storage"] = size


def test_a_claim_waits_for_a_filesystem(kind: Make) -> None:
    made = kind("persistentvolumeclaims").filled(CLAIM)
    assert (made["spec"]["volumeMode"], made["status"]) == ("Filesystem", {"phase": "Pending"})


def test_a_claim_needs_modes_and_a_size(kind: Make) -> None:
    assert kind("persistentvolumeclaims").faults({"spec": {}}) == [
        "spec.accessModes: Required value: at least 1 access mode is required",
        "spec.resources[storage]: Required value",
    ]


def test_the_two_names_of_a_source_are_one_fact(kind: Make) -> None:
    claims = kind("persistentvolumeclaims")
    other = {"kind": "PersistentVolumeClaim", "name": "y", "apiGroup": None}
    assert claims.filled(claim(dataSource=other))["spec"]["dataSourceRef"] == other
    assert claims.filled(claim(dataSourceRef=other))["spec"]["dataSource"] == other
    assert "dataSource" not in claims.filled(claim(dataSource={"kind": "Odd", "name": "y"}))["spec"]


def test_a_claim_stands_until_it_is_bound(kind: Make) -> None:
    claims = kind("persistentvolumeclaims")
    assert not claims.changes(CLAIM, lambda obj: obj["spec"].update(volumeName="v"))
    assert not claims.changes(CLAIM, lambda obj: obj["spec"].update(storageClassName="s"))
    (fault,) = claims.changes(CLAIM, lambda obj: obj["spec"].update(accessModes=["ReadWriteMany"]))
    assert fault == f"spec: Forbidden: {IMMUTABLE}\nchanged: accessModes"


def test_a_bound_claim_grows_and_does_not_shrink_below_what_it_has(kind: Make) -> None:
    claims = kind("persistentvolumeclaims")
    given = {**claim(), "status": {"phase": "Bound", "capacity": {"storage": "2Gi"}}}
    assert not claims.changes(given, lambda obj: bound(obj, "3Gi"))
    assert claims.changes(given, lambda obj: bound(obj, "1Gi")) == [
        "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
    ]


def test_a_volume_is_kept_by_default(kind: Make) -> None:
    made = kind("persistentvolumes").filled(volume(rbd={"monitors": ["a"], "image": "b"}))
    assert made["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert made["spec"]["rbd"] == {
        "monitors": ["a"],
        "image": "b",
        "pool": "rbd",
        "user": "admin",
        "keyring": "/etc/ceph/keyring",
    }
    assert made["status"]["phase"] == "Pending"
    assert made["status"]["lastPhaseTransitionTime"].endswith("Z")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({}, ["spec: Required value: must specify a volume type"]),
        (
            {"nfs": {"path": "x"}},
            ["spec.nfs.server: Required value", 'spec.nfs.path: Invalid value: "x": must be an absolute path'],
        ),
        ({"local": {"path": "/x"}}, ["spec.nodeAffinity: Required value: Local volume requires node affinity"]),
        ({"hostPath": {"path": "/../x"}}, ["spec.hostPath.path: Invalid value: \"/../x\": must not contain '..'"]),
        ({"glusterfs": {}}, ["spec.glusterfs.endpoints: Required value", "spec.glusterfs.path: Required value"]),
        (
            {"hostPath": {"path": "/x"}, "nfs": {"server": "a", "path": "/b"}},
            ["spec.nfs: Forbidden: may not specify more than 1 volume type"],
        ),
        (
            {"iscsi": {"targetPortal": "p", "iqn": "iqn.2020-01.com.x:y", "lun": 256, "chapAuthSession": True}},
            [
                "spec.iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive",
                "spec.iscsi.secretRef: Required value",
            ],
        ),
    ],
)
def test_sources_are_checked(kind: Make, source: dict[str, Any], expected: list[str]) -> None:
    assert kind("persistentvolumes").faults(volume(**source)) == expected


def test_the_source_of_a_volume_stands(kind: Make) -> None:
    volumes = kind("persistentvolumes")
    given = volume(hostPath={"path": "/x"})
    (fault,) = volumes.changes(given, lambda obj: obj["spec"]["hostPath"].update(path="/y"))
    assert fault.endswith("spec.persistentvolumesource is immutable after creation\nchanged: hostPath")
    assert not volumes.changes(given, lambda obj: obj["spec"].update(claimRef={"name": "a", "namespace": "b"}))
