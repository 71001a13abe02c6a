"""A namespace on a cluster of one node: volumes and pods in it, and what the node has of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from eventual import eventually
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resource import Resource
from ingot.api.resources import PODS, VOLUME_CLAIMS, VOLUMES
from ingot.api.status import ApiError
from ingot.disks.endpoint import Endpoint, File
from ingot.disks.place import Place
from ingot.disks.resolve import resolve
from ingot.kube.client import Client
from kube.node import RealNode
from kube.traces import loops, mounts
from machine.machine_support import HOSTNAME, a_claim, a_volume

SECONDS = 60.0


@dataclass
class Stage:
    """A namespace on the cluster, and what is put into it."""

    client: Client
    node: RealNode
    namespace: str

    async def volume(self, source: Object, mode: str = "Filesystem") -> Object:
        """A PersistentVolume on the node, called as the namespace is, and bound to the claim `claim`."""
        term = {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [self.node.name]}]}
        pv = a_volume(self.namespace, volumeMode=mode, storageClassName=self.namespace)
        del pv["spec"]["hostPath"]
        pv["spec"] |= {**source, "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}
        made = await self.client.create(VOLUMES, pv)
        # The binder looks for a claim's volume when the claim is new, and then only every 15 s.
        await self.in_phase(VOLUMES, self.namespace, "Available")
        claim = a_claim(self.namespace, "claim", volumeMode=mode, storageClassName=self.namespace)
        await self.client.create(VOLUME_CLAIMS, claim)
        await self.in_phase(VOLUME_CLAIMS, "claim", "Bound")
        return made

    async def in_phase(self, kind: Resource, name: str, phase: str) -> None:
        async def look() -> bool:
            found = await self.client.get(kind, name, self.namespace if kind.namespaced else "")
            return bool((found.get("status") or {}).get("phase") == phase)

        await eventually(look, SECONDS)

    @asynccontextmanager
    async def running(self, pod: Object) -> AsyncIterator[Object]:
        """A pod on the node for the length of the block. Nothing of its volumes stays on the node."""
        pod["spec"]["nodeName"] = self.node.name
        made = await self.client.create(PODS, pod)
        try:
            yield made
        finally:
            await self.client.delete(PODS, name_of(made), self.namespace, grace_period=1)
            await eventually(lambda: self.is_gone(name_of(made)), SECONDS)
        # A pod that was over already is gone at once, and its volumes a little later.
        await eventually(lambda: asyncio.to_thread(lambda: not self.traces(made)), SECONDS)

    def place(self, pod: Object) -> Path:
        return self.node.root / "pods" / uid_of(pod)

    def volumes(self, pod: Object) -> list[Path]:
        """What the kubelet has of volumes in the pod's directory, mounted or not."""
        return [*self.place(pod).glob("volumes/*/*"), *self.place(pod).glob("volumeDevices/*/*")]

    def traces(self, pod: Object) -> list[object]:
        """What there is of the volumes of a pod that is the only one of the node."""
        # The kubelet mounts its own directory, too.
        mounted = [path for path in mounts(self.node.root) if path != self.node.root]
        return [*self.volumes(pod), *mounted, *loops(self.node.root)]

    async def is_gone(self, name: str) -> bool:
        try:
            await self.client.get(PODS, name, self.namespace)
        except ApiError as error:
            return error.code == 404
        return False

    async def told(self, pod: Object) -> str:
        """The line by which the pod says that it has written: which file or device that was."""

        async def look() -> str:
            said = self.node.log(pod).splitlines()
            return next((line for line in said if line.startswith(("file ", "device "))), "")

        try:
            return await eventually(look, SECONDS)
        except TimeoutError:
            raise AssertionError(self.node.kubectl("describe", "pods", "-n", self.namespace)) from None

    async def resolved(self, pod: Object) -> Endpoint:
        place = Place(self.namespace, self.node.name, uid_of(pod), self.node.root, self.node.directory)
        source = {"name": "disk", "persistentVolumeClaim": {"claimName": "claim"}}
        endpoint = await resolve(source, {}, place, self.client)
        # An open file in it would keep the volume from being unmounted.
        return replace(endpoint, opened=None) if isinstance(endpoint, File) else endpoint
