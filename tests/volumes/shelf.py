"""Volumes on a whole machine: made, waited for, and looked into where they lie."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from eventual import eventually
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resource import Resource
from ingot.api.resources import DATA_VOLUMES, EVENTS, PODS, VOLUME_CLAIMS, VOLUMES
from ingot.cli.main import cli
from ingot.kube.client import Client
from ingot.kube.objects import condition
from ingot_up import IngotUp, processes_with


def volume(name: str, source: Object | None, size: str = "", **spec: Any) -> Object:
    """A DataVolume; `storage` in `spec` takes more of its claim."""
    storage: Object = dict(spec.pop("storage", {}))
    if size:
        storage["resources"] = {"requests": {"storage": size}}
    made = {"source": source, **spec} if source else spec
    return {
        "apiVersion": DATA_VOLUMES.api_version,
        "kind": DATA_VOLUMES.kind,
        "metadata": {"name": name},
        "spec": {**made, **({} if "pvc" in spec else {"storage": storage})},
    }


class Shelf:
    """The volumes of one namespace."""

    def __init__(self, client: Client, namespace: str, server: IngotUp) -> None:
        self.client, self.namespace, self.server = client, namespace, server

    async def make(self, *volumes: Object) -> None:
        for each in volumes:
            each["metadata"]["namespace"] = self.namespace
            await self.client.create(DATA_VOLUMES, each)

    async def create(self, resource: Resource, name: str, spec: Object, annotations: Object | None = None) -> Object:
        """Makes an object of any kind that has a spec."""
        metadata = {"name": name, "namespace": self.namespace, "annotations": annotations or {}}
        made = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}
        return await self.client.create(resource, made)

    async def get(self, name: str) -> Object:
        return await self.client.get(DATA_VOLUMES, name, self.namespace)

    async def until(self, name: str, done: Callable[[Object], bool], seconds: float = 60.0) -> Object:
        """The DataVolume, once it is as wanted. One that has failed meanwhile will not be."""
        seen: list[Object] = [{}]

        async def look() -> Object | None:
            seen[0] = await self.get(name)
            if done(seen[0]):
                return seen[0]
            assert phase(seen[0]) != "Failed", seen[0]["status"]
            return None

        try:
            return await eventually(look, seconds)
        except AssertionError as error:
            raise AssertionError(f"{name}: {seen[0].get('status')}: {error}") from error

    async def filled(self, name: str, seconds: float = 60.0) -> Object:
        """The DataVolume, once its bytes are there."""
        return await self.until(name, lambda each: phase(each) == "Succeeded", seconds)

    async def failed(self, name: str, seconds: float = 90.0) -> str:
        """Why it has failed for good."""
        found = await self.until(name, lambda each: phase(each) == "Failed", seconds)
        return str((condition(found, "Running") or {}).get("message", ""))

    async def moving(self, name: str, least: int) -> Object:
        """The DataVolume, once so many bytes have been moved, and not all."""
        return await self.until(
            name, lambda each: (each.get("status", {}).get("transfer") or {}).get("done", 0) >= least
        )

    async def claim(self, name: str) -> Object:
        return await self.client.get(VOLUME_CLAIMS, name, self.namespace)

    async def place(self, name: str) -> Path:
        """Where the volume of a claim lies on this machine."""
        found = await self.claim(name)
        held = await self.client.get(VOLUMES, found["spec"]["volumeName"])
        assert held["spec"]["claimRef"]["uid"] == uid_of(found)
        return Path(held["spec"]["local"]["path"])

    async def content(self, name: str, size: int) -> bytes:
        """The first bytes of a claim's disk: of the one file in it, or of its device."""
        place = await self.place(name)
        if place.is_dir():
            assert [each.name for each in place.iterdir()] == ["disk.img"]
            place /= "disk.img"
        with place.open("rb") as file:
            return file.read(size)

    async def events(self, obj: Object, reason: str = "") -> list[str]:
        selector = f"involvedObject.uid={uid_of(obj)}" + (f",reason={reason}" if reason else "")
        found = await self.client.list(EVENTS, namespace_of(obj), field_selector=selector)
        return [str(each["message"]) for each in found["items"]]

    async def pods(self) -> list[Object]:
        return list((await self.client.list(PODS, self.namespace))["items"])

    async def idle(self) -> None:
        """Waits until no pod works on anything here."""

        async def look() -> bool:
            return not await self.pods()

        await eventually(look)

    async def nothing_left(self, seconds: float = 30.0) -> None:
        """Waits until neither pods nor claims nor volumes nor files nor processes of this namespace are there."""

        async def look() -> bool:
            pods = [name_of(each) for each in await self.pods()]
            claims = (await self.client.list(VOLUME_CLAIMS, self.namespace))["items"]
            held = (await self.client.list(VOLUMES))["items"]
            ours = [each for each in held if each["spec"].get("claimRef", {}).get("namespace") == self.namespace]
            return not (pods or claims or ours)

        await eventually(look, seconds)
        known = {name_of(each) for each in (await self.client.list(VOLUMES))["items"]}
        lying = {each.name for each in volumes_of(self.server).iterdir() if not each.name.startswith(".")}
        assert lying <= known, f"files of no volume: {lying - known}"


def phase(volume: Object) -> str:
    return str((volume.get("status") or {}).get("phase", ""))


def volumes_of(server: IngotUp) -> Path:
    return server.directory / "volumes"


def workers(server: IngotUp) -> list[int]:
    """The processes that fill volumes, without the shells that wait for them."""
    found = processes_with(str(server.directory))
    return [pid for pid, command in found.items() if "ingot worker" in command and not command.startswith("/bin/sh")]


async def ingot(server: IngotUp, *words: str, code: int = 0, kubeconfig: Path | None = None) -> str:
    """What a command prints; one that ends with another code fails the test with what it said.

    It is an administrator's, unless there is a `kubeconfig` of somebody else.
    """
    command = [*words, "--kubeconfig", str(kubeconfig or server.kubeconfig)]
    done = await asyncio.to_thread(CliRunner().invoke, cli, command)
    assert done.exit_code == code, f"{' '.join(words)}: {done.exit_code}: {done.output}"
    return done.output


def pid_of(server: IngotUp, part: str) -> int:
    """Of a child of `ingot up`."""
    return int(json.loads((server.directory / f"{part}.json").read_text())["pid"])
