"""Manifests of the tests, as a user would write them."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ingot.api import resources
from ingot.api.object import Object
from ingot.api.resource import Resource

BOOT = "boot"
_KINDS = (
    resources.CONFIG_MAPS,
    resources.MACHINES,
    resources.NAMESPACES,
    resources.SECRETS,
    resources.VOLUME_CLAIMS,
    resources.VOLUMES,
)


def resource_of(obj: Object) -> Resource:
    """Where objects of this kind live."""
    return next(resource for resource in _KINDS if resource.kind == obj["kind"])


def namespace(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def machine(namespace: str, name: str, boot: Path, disks: Sequence[Object], volumes: Sequence[Object]) -> Object:
    """A machine that boots the guest image and has these disks beside it."""
    first = {"name": BOOT, "bootOrder": 1, "disk": {"bus": "virtio", "readonly": True}}
    image = {"name": BOOT, "hostDisk": {"path": str(boot), "type": "Disk"}}
    spec: Object = {
        "terminationGracePeriodSeconds": 10,
        "domain": {"memory": {"guest": "160Mi"}, "devices": {"disks": [first, *disks]}},
        "volumes": [image, *volumes],
    }
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"runStrategy": "Always", "template": {"spec": spec}},
    }


def still(namespace: str, name: str, disks: Sequence[Object], volumes: Sequence[Object]) -> Object:
    """A machine whose guest is started and stands still: its QEMU has the disks, and needs no CPU."""
    spec: Object = {
        "startStrategy": "Paused",
        "terminationGracePeriodSeconds": 0,
        "domain": {"memory": {"guest": "32Mi"}, "devices": {"disks": list(disks)}},
        "volumes": list(volumes),
    }
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"runStrategy": "Always", "template": {"spec": spec}},
    }


def secret(namespace: str, name: str, keys: Mapping[str, str]) -> Object:
    data = {key: base64.b64encode(value.encode()).decode() for key, value in keys.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": namespace, "name": name}, "data": data}


def config_map(namespace: str, name: str, data: Mapping[str, str]) -> Object:
    metadata = {"namespace": namespace, "name": name}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(data)}


def bound_claim(namespace: str, name: str, mode: str, **source: Any) -> list[Object]:
    """A PersistentVolume with that source, and the claim that it is for."""
    spec = {"accessModes": ["ReadWriteMany"], "volumeMode": mode, "storageClassName": ""}
    volume: Object = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"{namespace}-{name}"},
        "spec": {
            **spec,
            "capacity": {"storage": "1Gi"},
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {"namespace": namespace, "name": name},
            **source,
        },
    }
    claim: Object = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {**spec, "volumeName": f"{namespace}-{name}", "resources": {"requests": {"storage": "1Gi"}}},
    }
    return [volume, claim]


def on_node(node: str) -> Object:
    """The affinity of a volume that only one node has."""
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
    return {"required": {"nodeSelectorTerms": [term]}}
