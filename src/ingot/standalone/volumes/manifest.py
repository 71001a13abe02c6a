"""A local volume as an object."""

from pathlib import Path

from ingot.api.object import Object, uid_of
from ingot.api.resources import VOLUMES
from ingot.standalone.volumes.words import (
    HOSTNAME,
    LOCAL_FINALIZER,
    LOCAL_PROVISIONER,
    PROVISIONED_BY,
    class_of,
    reference_to,
)


def volume_name(claim: Object) -> str:
    """The name that the claim's volume has if we make it."""
    return f"pvc-{uid_of(claim)}"


def is_block(obj: Object) -> bool:
    """Whether a claim or a volume is a device."""
    return bool(obj["spec"].get("volumeMode") == "Block")


def local_volume(claim: Object, storage_class: Object, path: Path, hostname: str) -> Object:
    """The PersistentVolume at `path` on the node with that hostname, for the claim and no other."""
    terms = [{"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [hostname]}]}]
    return {
        "apiVersion": VOLUMES.api_version,
        "kind": VOLUMES.kind,
        "metadata": {
            "name": volume_name(claim),
            "annotations": {PROVISIONED_BY: LOCAL_PROVISIONER},
            "finalizers": [LOCAL_FINALIZER],
        },
        "spec": {
            "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
            "accessModes": claim["spec"]["accessModes"],
            "volumeMode": claim["spec"].get("volumeMode", "Filesystem"),
            "storageClassName": class_of(claim),
            "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
            "claimRef": reference_to(claim),
            "local": {"path": str(path)},
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
        },
    }
