"""Many golden images and volumes that have settled, as controllers would have left them in an API server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from images.servers.counting import digest_of
from ingot.api.cdi import names
from ingot.api.object import Object, uid_of
from ingot.api.resources import (
    DATA_IMPORT_CRONS,
    DATA_SOURCES,
    DATA_VOLUMES,
    NAMESPACES,
    STORAGE_CLASSES,
    VOLUME_CLAIMS,
    VOLUMES,
)
from ingot.control.volumes.source import Operation, reference_to
from ingot.kube.client import Client
from ingot.kube.objects import set_controller_reference

NAMESPACE, CLASS = "golden", "far"
# How many versions of each image are kept, as is CDI's custom.
VERSIONS = 3
_AT_ONCE = 32
_THEN = "2026-01-01T00:00:00Z"
_LATER = "2099-01-01T00:00:00Z"


async def populate(client: Client, registry: str, crons: int, volumes: int) -> None:
    """`crons` images with three versions each, and so many clones of them that there are `volumes` in all."""
    for name in (NAMESPACE, "ingot"):
        await client.create(NAMESPACES, {"metadata": {"name": name}})
    marks = {"storageclass.kubernetes.io/is-default-class": "true"}
    storage = {"metadata": {"name": CLASS, "annotations": marks}, "provisioner": "csi.example"}
    await client.create(STORAGE_CLASSES, {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", **storage})
    imports = [(number, version) for number in range(crons) for version in range(VERSIONS)]
    await each(imports, lambda pair: _import(client, registry, *pair))
    await each(range(crons), lambda number: _cron(client, registry, number))
    await each(range(volumes - len(imports)), lambda number: _clone(client, number, number % crons))


async def each(things: Iterable[Any], work: Callable[[Any], Awaitable[None]]) -> None:
    """Does the work for all of them, many at a time."""
    left = iter(things)

    async def go() -> None:
        for thing in left:
            await work(thing)

    async with asyncio.TaskGroup() as group:
        for _ in range(_AT_ONCE):
            group.create_task(go())


def _repository(number: int) -> str:
    return f"os/disk-{number}"


def _import_name(number: int, version: int) -> str:
    digits = digest_of(_repository(number), version).removeprefix("sha256:")[:12]
    return f"disk-{number}-{digits}"


async def _cron(client: Client, registry: str, number: int) -> None:
    name, repository = f"disk-{number}", _repository(number)
    source = {"registry": {"url": f"docker://{registry}/{repository}:latest"}}
    told = {
        names.DESIRED_DIGEST: digest_of(repository),
        names.NEWEST_VERSION: "latest",
        names.LAST_CRON_TIME: _THEN,
        names.NEXT_CRON_TIME: _LATER,
        names.CRON_STORAGE_CLASS: CLASS,
    }
    made = await client.create(
        DATA_IMPORT_CRONS,
        {
            "apiVersion": DATA_IMPORT_CRONS.api_version,
            "kind": DATA_IMPORT_CRONS.kind,
            "metadata": {
                "name": name,
                "namespace": NAMESPACE,
                "annotations": told,
                "finalizers": [names.CRON_FINALIZER],
            },
            "spec": {
                "schedule": "0 */12 * * *",
                "managedDataSource": name,
                "template": {"spec": {"source": source, "storage": _wish()}},
            },
        },
    )
    link: Object = {
        "apiVersion": DATA_SOURCES.api_version,
        "kind": DATA_SOURCES.kind,
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {names.IMPORT_CRON: name}},
        "spec": {"source": {"pvc": {"namespace": NAMESPACE, "name": _import_name(number, 1)}}},
    }
    set_controller_reference(link, made)
    await client.create(DATA_SOURCES, link)


async def _import(client: Client, registry: str, number: int, version: int) -> None:
    repository = _repository(number)
    digest = digest_of(repository, version)
    metadata = {
        "name": _import_name(number, version),
        "labels": {names.IMPORT_CRON: f"disk-{number}"},
        "annotations": {
            names.DESIRED_DIGEST: digest,
            names.VERSION: "latest",
            names.LAST_USE: _THEN,
            names.IMMEDIATE: "true",
        },
    }
    url = f"docker://{registry}/{repository}@{digest}"
    spec = {"source": {"registry": {"url": url}}, "storage": {**_wish(), "storageClassName": CLASS}}
    await _volume(client, metadata, spec, Operation.IMPORT)


async def _clone(client: Client, number: int, cron: int) -> None:
    spec = {"sourceRef": {"kind": "DataSource", "name": f"disk-{cron}"}, "storage": _wish()}
    await _volume(client, {"name": f"clone-{number}"}, spec, Operation.CLONE)


def _wish() -> Object:
    return {"resources": {"requests": {"storage": "10Gi"}}}


async def _volume(client: Client, metadata: Object, spec: Object, operation: Operation) -> None:
    """A DataVolume that has succeeded, its claim, and the volume of that."""
    name = metadata["name"]
    metadata = {**metadata, "namespace": NAMESPACE}
    parts = {"apiVersion": DATA_VOLUMES.api_version, "kind": DATA_VOLUMES.kind, "metadata": metadata, "spec": spec}
    made = await client.create(DATA_VOLUMES, parts)
    status = {
        "phase": "Succeeded",
        "progress": "100.0%",
        "claimName": name,
        "restartCount": 0,
        "conditions": [
            _condition("Bound", "True", "Bound", f"PVC {name} Bound"),
            _condition("Ready", "True", "", ""),
            _condition("Running", "False", "Completed", f"{operation} Complete"),
        ],
    }
    await client.patch(DATA_VOLUMES, name, {"status": status}, NAMESPACE, subresource="status")
    claim: Object = {
        "apiVersion": VOLUME_CLAIMS.api_version,
        "kind": VOLUME_CLAIMS.kind,
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {**names.APP_LABELS, **metadata.get("labels", {})},
            "annotations": {
                **metadata.get("annotations", {}),
                names.POD_RESTARTS: "0",
                names.CONTENT_TYPE: "kubevirt",
                names.PREALLOCATION: "false",
                names.CREATED_FOR: uid_of(made),
                names.POD_PHASE: "Succeeded",
                names.RUNNING: "false",
                names.RUNNING_REASON: "Completed",
                names.RUNNING_MESSAGE: "the volume is filled",
            },
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "volumeMode": "Filesystem",
            "storageClassName": CLASS,
            "volumeName": f"pvc-{uid_of(made)}",
            "dataSourceRef": reference_to(made, operation),
            **_wish(),
        },
    }
    set_controller_reference(claim, made)
    held = await client.create(VOLUME_CLAIMS, claim)
    bound = {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "10Gi"}}
    await client.patch(VOLUME_CLAIMS, name, {"status": bound}, NAMESPACE, subresource="status")
    await _persistent_volume(client, f"pvc-{uid_of(made)}", held)


async def _persistent_volume(client: Client, name: str, claim: Object) -> None:
    reference = {"kind": VOLUME_CLAIMS.kind, "namespace": NAMESPACE, "name": claim["metadata"]["name"]}
    await client.create(
        VOLUMES,
        {
            "apiVersion": VOLUMES.api_version,
            "kind": VOLUMES.kind,
            "metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": "csi.example"}},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "capacity": {"storage": "10Gi"},
                "claimRef": {**reference, "uid": uid_of(claim)},
                "csi": {"driver": "csi.example", "volumeHandle": f"handle-of-{name}"},
                "persistentVolumeReclaimPolicy": "Delete",
                "storageClassName": CLASS,
                "volumeMode": "Filesystem",
            },
        },
    )


def _condition(kind: str, status: str, reason: str, message: str) -> Object:
    times = {"lastTransitionTime": _THEN, "lastHeartbeatTime": _THEN}
    return {"type": kind, "status": status, "reason": reason, "message": message, **times}
