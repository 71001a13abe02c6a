"""Snapshots and restores of machines whose disks are saved as full copies, and what lies in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from guest import lab as living
from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.resources import (
    DATA_VOLUMES,
    MACHINE_RESTORES,
    MACHINE_SNAPSHOT_CONTENTS,
    MACHINE_SNAPSHOTS,
    PODS,
    VOLUME_CLAIMS,
    VOLUMES,
)
from ingot.kube.client import Client


class Saved:
    """What is kept of machines of one namespace."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client, self.namespace = client, namespace

    async def until(
        self, resource: Resource, name: str, done: Callable[[Object], Any], seconds: float = 90.0
    ) -> Object:
        seen: list[Object] = [{}]

        async def look() -> Object | None:
            seen[0] = await self.client.get(resource, name, self.namespace)
            return seen[0] if done(seen[0]) else None

        return await living.eventually(look, lambda: seen[0].get("status"), seconds)

    async def ask(self, machine: str, name: str = "snap", **spec: Any) -> Object:
        source = {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": machine}
        return await self._create(MACHINE_SNAPSHOTS, name, {"source": source, **spec})

    async def taken(self, machine: str, name: str = "snap", **spec: Any) -> Object:
        """A snapshot, once it is complete."""
        await self.ask(machine, name, **spec)
        return await self.complete(name)

    async def complete(self, name: str = "snap") -> Object:
        return await self.until(MACHINE_SNAPSHOTS, name, lambda each: each.get("status", {}).get("readyToUse"))

    async def content(self, snapshot: Object) -> Object:
        name = snapshot["status"]["virtualMachineSnapshotContentName"]
        return await self.client.get(MACHINE_SNAPSHOT_CONTENTS, name, self.namespace)

    async def restored(self, target: str, snapshot: str = "snap", **spec: Any) -> dict[str, str]:
        """A restore, once it is complete: claims by volume."""
        reference = {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": target}
        name = f"{snapshot}-to-{target}"
        wanted = {"target": reference, "virtualMachineSnapshotName": snapshot, **spec}
        await self._create(MACHINE_RESTORES, name, wanted)
        done = await self.until(MACHINE_RESTORES, name, lambda each: each.get("status", {}).get("complete"))
        return {each["volumeName"]: each["persistentVolumeClaim"] for each in done["status"]["restores"]}

    async def cloned(self, claim: str) -> str:
        """A clone of a claim, once it is filled, of which nothing else is left."""
        before, name = await self.claims(), f"clone-of-{claim}"
        source = {"pvc": {"namespace": self.namespace, "name": claim}}
        await self._create(DATA_VOLUMES, name, {"source": source, "storage": {}})
        await self.until(DATA_VOLUMES, name, lambda each: each.get("status", {}).get("phase") == "Succeeded")

        async def look() -> bool:
            listed = await self.client.list(MACHINE_SNAPSHOT_CONTENTS, self.namespace)
            names = {each["metadata"]["name"] for each in listed["items"]}
            return await self.claims() == {*before, name} and not any(each.startswith("tmp-") for each in names)

        await living.eventually(look, lambda: "something is left of the way over", 30)
        return name

    async def disk(self, claim: str) -> Path:
        """Where the disk of a claim lies: a file, or a device."""
        found = await self.client.get(VOLUME_CLAIMS, claim, self.namespace)
        held = await self.client.get(VOLUMES, found["spec"]["volumeName"])
        place = Path(held["spec"]["local"]["path"])
        return place if held["spec"]["volumeMode"] == "Block" else place / "disk.img"

    async def claims(self) -> set[str]:
        return {each["metadata"]["name"] for each in (await self.client.list(VOLUME_CLAIMS, self.namespace))["items"]}

    async def savers(self) -> list[Object]:
        return list((await self.client.list(PODS, self.namespace, label_selector="ingot.io/saver"))["items"])

    async def no_savers(self) -> None:
        async def look() -> bool:
            return not await self.savers()

        await living.eventually(look, lambda: "there are savers", 30)

    async def _create(self, resource: Resource, name: str, spec: Object) -> Object:
        metadata = {"name": name, "namespace": self.namespace}
        made = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}
        return await self.client.create(resource, made)
