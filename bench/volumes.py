"""Volumes on a whole machine of their own, as the benches of volumes make and measure them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from eventual import eventually
from guest.lab import node_name
from ingot.api.resource import Resource
from ingot.api.resources import DATA_VOLUMES, PODS, VOLUME_CLAIMS, VOLUMES
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from ingot_up import WholeMachine, processes_with

NAMESPACE = "default"
WAIT_SECONDS = 600.0


class Benchmarked:
    """A machine and its administrator."""

    def __init__(self, server: WholeMachine, client: Client) -> None:
        self.server, self.client = server, client

    async def apply(
        self, name: str, source: dict[str, Any], size: str = "", mode: str = "Filesystem", **annotations: str
    ) -> float:
        """Makes a DataVolume; the moment just before."""
        storage: dict[str, Any] = {"volumeMode": mode}
        if size:
            storage["resources"] = {"requests": {"storage": size}}
        began = time.perf_counter()
        await self.client.create(
            DATA_VOLUMES,
            {
                "apiVersion": DATA_VOLUMES.api_version,
                "kind": DATA_VOLUMES.kind,
                "metadata": {"name": name, "namespace": NAMESPACE, "annotations": annotations},
                "spec": {"source": source, "storage": storage},
            },
        )
        return began

    async def until(self, resource: Resource, name: str, done: Callable[[dict[str, Any]], bool]) -> float:
        """The moment at which the server told that an object is as wanted."""
        selector = f"metadata.name={name}"
        async with asyncio.timeout(WAIT_SECONDS):
            while True:
                page = await self.client.list(resource, NAMESPACE, field_selector=selector)
                if any(done(each) for each in page["items"]):
                    return time.perf_counter()
                version = page["metadata"]["resourceVersion"]
                async for event in self.client.watch(
                    resource, NAMESPACE, resource_version=version, seconds=60, field_selector=selector
                ):
                    if event.type in ("ADDED", "MODIFIED") and done(event.object):
                        return time.perf_counter()

    async def filled(self, name: str) -> float:
        return await self.until(DATA_VOLUMES, name, _succeeded)

    async def path(self, name: str) -> Path:
        claim = await self.client.get(VOLUME_CLAIMS, name, NAMESPACE)
        volume = await self.client.get(VOLUMES, claim["spec"]["volumeName"])
        return Path(volume["spec"]["local"]["path"])

    async def clear(self, but: str = "") -> None:
        """Nothing of any volume is left, `but` of that one."""
        for each in (await self.client.list(DATA_VOLUMES, NAMESPACE))["items"]:
            if each["metadata"]["name"] != but:
                await self.client.delete(DATA_VOLUMES, each["metadata"]["name"], NAMESPACE)

        async def gone() -> bool:
            pages = [await self.client.list(kind, NAMESPACE) for kind in (DATA_VOLUMES, VOLUME_CLAIMS, PODS)]
            held = (await self.client.list(VOLUMES))["items"]
            return all(each["metadata"]["name"] == but for page in pages for each in page["items"]) and all(
                each["spec"]["claimRef"]["name"] == but for each in held
            )

        await eventually(gone, WAIT_SECONDS)

    def memory(self) -> int:
        """Bytes of all processes of Ingot, with what they share counted once; neither QEMU nor libvirtd."""
        theirs = ("qemu-system", "libvirtd")
        found = processes_with(str(self.server.directory))
        return sum(proportional(pid) for pid, command in found.items() if not any(word in command for word in theirs))


def _succeeded(volume: dict[str, Any]) -> bool:
    phase = (volume.get("status") or {}).get("phase")
    if phase == "Failed":
        raise RuntimeError(f"{volume['metadata']['name']}: {volume['status']}")
    return bool(phase == "Succeeded")


def is_bound(claim: dict[str, Any]) -> bool:
    return bool((claim.get("status") or {}).get("phase") == "Bound")


def proportional(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:"))


@asynccontextmanager
async def machine(directory: Path) -> AsyncIterator[Benchmarked]:
    """A whole `ingot up` in a directory, ready for volumes."""
    with WholeMachine(directory) as server:
        async with Client.connect(load(server.kubeconfig), on_warning=lambda _: None) as client:
            await node_name(client)
            yield Benchmarked(server, client)
