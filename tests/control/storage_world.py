"""Storage as a test plays it: a class with snapshots, and a provisioner that does what it is told."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from control.world import World
from eventual import eventually
from ingot.api import csi
from ingot.api.object import Object, uid_of
from ingot.api.resource import Resource
from ingot.api.resources import (
    CLONE_SOURCES,
    DATA_VOLUMES,
    PODS,
    SNAPSHOT_CLASSES,
    SNAPSHOT_CONTENTS,
    SNAPSHOTS,
    STORAGE_CLASSES,
    VOLUME_CLAIMS,
    VOLUMES,
)
from ingot.api.status import ApiError
from ingot.control.writing import change, delete
from ingot.kube.cache import Key
from ingot.kube.client import Client
from ingot.kube.clock import Clock
from ingot.kube.controller import Controller
from ingot.kube.manager import Manager
from ingot.kube.objects import has_finalizer, is_deleting, remove_finalizer

CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", False)
PROTECTION = "kubernetes.io/pvc-protection"
WHEN = "2023-11-14T22:13:20Z"


class Release:
    """The part of a cluster that lets claims go which nobody uses: here, all that are to go."""

    def __init__(self, manager: Manager, _clock: Clock) -> None:
        self._client = manager.client
        self._claims = manager.informer(VOLUME_CLAIMS)
        manager.add(Controller("release", self.reconcile).watch(self._claims))

    async def reconcile(self, key: Key) -> None:
        claim = self._claims.cache.get(key)
        if claim is not None and is_deleting(claim) and has_finalizer(claim, PROTECTION):
            await change(self._client, VOLUME_CLAIMS, claim, lambda each: remove_finalizer(each, PROTECTION))


async def install_snapshots(client: Client) -> None:
    """The kinds of snapshots, which a cluster need not have."""
    for crd in csi.crds():
        crd["metadata"].setdefault("annotations", {})["api-approved.kubernetes.io"] = "unapproved, for a test"
        try:
            await client.create(CRDS, crd)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
    await eventually(lambda: client.list(SNAPSHOTS))


class Storage(World):
    """`fast` is a class whose provisioner has snapshots, `plain` one whose has none."""

    def __init__(self, world: World) -> None:
        super().__init__(world.client, world.namespace, world.clock)
        self.fast, self.plain = f"fast-{self.namespace}", f"plain-{self.namespace}"

    async def furnish(self) -> None:
        await install_snapshots(self.client)
        for name in (self.fast, self.plain):
            await self.client.create(STORAGE_CLASSES, {"metadata": {"name": name}, "provisioner": f"{name}.example"})
        made = {
            "apiVersion": SNAPSHOT_CLASSES.api_version,
            "kind": SNAPSHOT_CLASSES.kind,
            "metadata": {"name": self.fast},
            "driver": f"{self.fast}.example",
            "deletionPolicy": "Delete",
        }
        await eventually(lambda: self.client.create(SNAPSHOT_CLASSES, made))

    async def clear(self) -> None:
        # Workers that nobody runs would hold up those of other tests at the gate.
        for pod in (await self.client.list(PODS, self.namespace))["items"]:
            await self.client.delete(PODS, pod["metadata"]["name"], self.namespace, grace_period=0)
        await self.client.delete(SNAPSHOT_CLASSES, self.fast)
        for name in (self.fast, self.plain):
            await self.client.delete(STORAGE_CLASSES, name)

    async def forget_clones(self) -> None:
        """Nobody is to fill a clone any more: the controllers of other tests would make its worker anew."""
        for kind in (DATA_VOLUMES, CLONE_SOURCES):
            for each in (await self.client.list(kind, self.namespace))["items"]:
                await delete(self.client, kind, each)

    async def claim(self, name: str, storage_class: str = "", **spec: Any) -> Object:
        """A claim that has its volume."""
        asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        given = {**asked, "storageClassName": storage_class or self.fast, **spec}
        await self.create(VOLUME_CLAIMS, {"metadata": {"name": name}, "spec": given})
        return await self.bind(name)

    async def provision(
        self, name: str, namespace: str = "", *, phase: str = "Bound", volume_phase: str = "Pending"
    ) -> Object:
        """The provisioner and the binder: the claim, once it is there, gets a volume; both are in these phases."""
        where = namespace or self.namespace
        claim = await eventually(lambda: self.client.get(VOLUME_CLAIMS, name, where))
        volume = f"pv-{uid_of(claim)}"
        spec = {
            "capacity": claim["spec"]["resources"]["requests"],
            "accessModes": claim["spec"]["accessModes"],
            "volumeMode": claim["spec"]["volumeMode"],
            "storageClassName": claim["spec"].get("storageClassName", ""),
            "claimRef": {"kind": "PersistentVolumeClaim", "namespace": where, "name": name, "uid": uid_of(claim)},
            "hostPath": {"path": "/nowhere"},
        }
        made = await self.client.create(VOLUMES, {"metadata": {"name": volume}, "spec": spec})
        if volume_phase != made["status"]["phase"]:
            await self.client.patch(VOLUMES, volume, {"status": {"phase": volume_phase}}, subresource="status")
        await self.client.patch(VOLUME_CLAIMS, name, {"spec": {"volumeName": volume}}, where)
        status = {"status": {"phase": phase, "capacity": claim["spec"]["resources"]["requests"]}}
        return await self.client.patch(VOLUME_CLAIMS, name, status, where, subresource="status")

    async def snapshotted(self, name: str, namespace: str = "", **status: Any) -> Object:
        """The snapshotter: the VolumeSnapshot, once it is there, can be used."""
        where = namespace or self.namespace
        snapshot = await eventually(lambda: self.client.get(SNAPSHOTS, name, where))
        told = status or {"readyToUse": True, "creationTime": WHEN, "restoreSize": "1Gi"}
        told = {"boundVolumeSnapshotContentName": await self._content(snapshot), **told}
        return await self.client.patch(SNAPSHOTS, name, {"status": told}, where, subresource="status")

    async def _content(self, snapshot: Object) -> str:
        """What the storage has of it: the name."""
        where, name = snapshot["metadata"]["namespace"], snapshot["spec"]["source"].get("persistentVolumeClaimName")
        claim = await self.client.get(VOLUME_CLAIMS, name, where)
        reference = {"namespace": where, "name": snapshot["metadata"]["name"], "uid": uid_of(snapshot)}
        made = {
            "apiVersion": SNAPSHOT_CONTENTS.api_version,
            "kind": SNAPSHOT_CONTENTS.kind,
            "metadata": {"name": f"snapcontent-{uid_of(snapshot)}"},
            "spec": {
                "deletionPolicy": "Delete",
                "driver": f"{self.fast}.example",
                "source": {"volumeHandle": claim["spec"]["volumeName"]},
                "sourceVolumeMode": claim["spec"]["volumeMode"],
                "volumeSnapshotRef": reference,
            },
        }
        with suppress(ApiError):
            await self.client.create(SNAPSHOT_CONTENTS, made)
        return str(made["metadata"]["name"])


@asynccontextmanager
async def at_work(world: World, *controllers: Callable[..., object]) -> AsyncIterator[Storage]:
    """Storage of its own, with these controllers at work."""
    storage = Storage(world)
    await storage.furnish()
    manager, stop = Manager(world.client), asyncio.Event()
    for controller in (Release, *controllers):
        controller(manager, world.clock)
    running = asyncio.create_task(manager.run(stop))
    try:
        yield storage
    finally:
        stop.set()
        await running
        await storage.clear()
