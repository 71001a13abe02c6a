"""What the tests of one machine's parts share: a manager that runs, objects to feed it, and conditions to wait for."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from ingot.api.object import Object
from ingot.api.resources import EVENTS
from ingot.kube.client import Client
from ingot.kube.manager import Manager

T = TypeVar("T")
HOSTNAME = "kubernetes.io/hostname"


@asynccontextmanager
async def running(client: Client, add: Callable[[Manager], Any]) -> AsyncIterator[Manager]:
    """A manager with what `add` adds to it, for the length of the block."""
    manager = Manager(client)
    add(manager)
    stop = asyncio.Event()
    task = asyncio.ensure_future(manager.run(stop))
    try:
        yield manager
    finally:
        stop.set()
        await task


def a_node(name: str, labels: Object | None = None, taints: list[Object] | None = None, **allocatable: str) -> Object:
    has = {"cpu": "4", "memory": "8Gi", "pods": "110", "ephemeral-storage": "100Gi", **allocatable}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, **(labels or {})}},
        "spec": {"taints": taints} if taints else {},
        "status": {
            "capacity": has,
            "allocatable": has,
            "conditions": [{"type": "Ready", "status": "True", "reason": "Ready", "message": ""}],
        },
    }


def a_pod(
    namespace: str, name: str, claims: tuple[str, ...] = (), requests: Object | None = None, **spec: Any
) -> Object:
    container: Object = {"name": "main", "image": "none", "resources": {"requests": requests or {}}}
    volumes = [{"name": f"v{index}", "persistentVolumeClaim": {"claimName": each}} for index, each in enumerate(claims)]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": [container], "volumes": volumes, "terminationGracePeriodSeconds": 0, **spec},
    }


def a_claim(namespace: str, name: str, size: str = "1Gi", **spec: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec},
    }


def a_volume(name: str, size: str = "1Gi", **spec: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": f"/nowhere/{name}"},
            "storageClassName": "",
            **spec,
        },
    }


async def events_of(client: Client, obj: Object, reason: str) -> list[str]:
    """The messages of an object's events with that reason."""
    selector = f"involvedObject.uid={obj['metadata']['uid']},reason={reason}"
    namespace = obj["metadata"].get("namespace", "default")
    found = await client.list(EVENTS, namespace, field_selector=selector)
    return [event["message"] for event in found["items"]]
