"""Claims and pods as caches have them."""

from typing import Any

from ingot.api.cdi import names
from ingot.api.object import Object, namespace_of
from ingot.control.volumes.prime import prime
from ingot.kube.cache import Cache, key_of

NOW = 1_700_000_000.0
BORN = "2023-11-14T22:13:20Z"
SOURCE: Object = {"kind": "VolumeImportSource", "metadata": {"name": "source"}, "spec": {"source": {"blank": {}}}}


def target(name: str = "disk", *, at: str = BORN, namespace: str = "ns", **spec: Any) -> Object:
    """A claim that is to be filled by an import."""
    reference = {"apiGroup": names.GROUP, "kind": "VolumeImportSource", "name": "source"}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "creationTimestamp": at,
            "annotations": {},
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "fast",
            "dataSourceRef": reference,
            **spec,
        },
    }


def prime_of(claim: Object) -> Object:
    """The prime of a target."""
    made = prime(claim, SOURCE, namespace_of(claim))
    made["metadata"]["uid"] = "uid-prime"
    return made


def pod(target_name: str = "disk", phase: str = "Running", *, transfer: bool = True, **container: Any) -> Object:
    """The worker of a target; `container` is the status of its container."""
    labels = {names.COMPONENT: "importer", **({names.TRANSFER: "true"} if transfer else {})}
    status = {"phase": phase, **({"containerStatuses": [{"name": "worker", **container}]} if container else {})}
    return {
        "metadata": {
            "name": f"importer-prime-uid-{target_name}",
            "namespace": "ns",
            "uid": f"uid-pod-{target_name}",
            "creationTimestamp": BORN,
            "labels": labels,
            "annotations": {names.PRIME_FOR: f"ns/{target_name}"},
            "ownerReferences": [{"name": f"prime-uid-{target_name}", "uid": "uid-prime", "controller": True}],
        },
        "spec": {},
        "status": status,
    }


def to_device(target_name: str = "disk", **container: Any) -> Object:
    """The worker of a target whose volume is a device."""
    devices = [{"name": "data", "devicePath": names.DEVICE_PATH}]
    return {**pod(target_name, **container), "spec": {"containers": [{"volumeDevices": devices}]}}


RUNNING: dict[str, Any] = {"state": {"running": {}}}


def fill(cache: Cache, *objects: Object) -> None:
    for obj in objects:
        cache.put(key_of(obj), obj)
