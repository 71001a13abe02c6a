"""DataVolumes of one namespace of a cluster that has Ingot, and what its node has of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from eventual import eventually
from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.resources import DATA_VOLUMES, PODS, UPLOAD_TOKEN_REQUESTS, VOLUME_CLAIMS, VOLUMES
from ingot.control.writing import live
from ingot.kube.client import Client
from ingot.kube.objects import condition
from kube.installation import NAMESPACE, Installation
from kube.provisioner import LATE
from volumes.shelf import phase, volume

SECONDS = 60.0
ROOM = "64Mi"
_IMMEDIATE = {"cdi.kubevirt.io/storage.bind.immediate.requested": "true"}


class Desk:
    """DataVolumes of a namespace, and what the node has of them."""

    def __init__(self, client: Client, cluster: Installation, namespace: str) -> None:
        self.client, self.cluster, self.namespace = client, cluster, namespace

    async def create(self, resource: Resource, name: str, **fields: Any) -> Object:
        head = {"apiVersion": resource.api_version, "kind": resource.kind}
        return await self.client.create(
            resource, {**head, "metadata": {"name": name, "namespace": self.namespace}, **fields}
        )

    async def make(
        self, name: str, source: Object, storage_class: str = LATE, size: str = ROOM, **storage: Any
    ) -> None:
        wanted = volume(name, source, size, storage={"storageClassName": storage_class, **storage})
        wanted["spec"]["storage"].setdefault("accessModes", ["ReadWriteOnce"])
        wanted["metadata"] |= {"namespace": self.namespace, "annotations": _IMMEDIATE}
        await self.client.create(DATA_VOLUMES, wanted)

    async def until(self, name: str, done: Callable[[Object], bool], seconds: float = SECONDS) -> Object:
        seen: list[Object] = [{}]

        async def look() -> Object | None:
            seen[0] = await self.client.get(DATA_VOLUMES, name, self.namespace)
            return seen[0] if done(seen[0]) else None

        try:
            return await eventually(look, seconds)
        except AssertionError as error:
            told = self.cluster.node.kubectl("describe", "pods,pvc", "-n", self.namespace)
            raise AssertionError(f"{error}\n{seen[0].get('status')}\n{told}\n{self.cluster.said()[-4000:]}") from error

    async def filled(self, name: str) -> Object:
        return await self.until(name, lambda each: phase(each) == "Succeeded")

    async def ready(self, resource: Resource, name: str) -> Object:
        """An object of another kind, once it says that it is ready."""

        async def look() -> Object | None:
            found = await live(self.client, resource, name, self.namespace)
            is_so = (condition(found or {}, "Ready") or {}).get("status") == "True"
            return found if is_so else None

        return await eventually(look, SECONDS)

    async def place(self, name: str) -> Path:
        """The file or device on the node that is the disk of a volume."""
        claim = await self.client.get(VOLUME_CLAIMS, name, self.namespace)
        held = await self.client.get(VOLUMES, claim["spec"]["volumeName"])
        path = Path(held["spec"]["local"]["path"])
        return path if claim["spec"]["volumeMode"] == "Block" else path / "disk.img"

    async def content(self, name: str, size: int) -> bytes:
        with (await self.place(name)).open("rb") as file:
            return file.read(size)

    async def pods(self) -> list[Object]:
        return list((await self.client.list(PODS, self.namespace))["items"])

    async def token(self, claim: str, client: Client | None = None) -> Object:
        """What the cluster answers to a request for an upload token."""
        asked = {
            "apiVersion": UPLOAD_TOKEN_REQUESTS.api_version,
            "kind": UPLOAD_TOKEN_REQUESTS.kind,
            "metadata": {"name": claim, "namespace": self.namespace},
            "spec": {"pvcName": claim},
        }
        return await (client or self.client).create(UPLOAD_TOKEN_REQUESTS, asked)

    async def gateway(self) -> str:
        """The address of a gateway."""
        found = await self.client.list(PODS, NAMESPACE, label_selector="app.kubernetes.io/component=gateway")
        ready = [pod for pod in found["items"] if (condition(pod, "Ready") or {}).get("status") == "True"]
        return str(ready[0]["status"]["podIP"])
