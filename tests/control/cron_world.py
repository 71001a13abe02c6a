"""Golden images as a test plays them: a real registry with images that weigh nothing, and a populator that fills what
it is told to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from control.world import World
from eventual import eventually
from images.servers.registry import DockerRegistry
from ingot.api.cdi import names
from ingot.api.object import Object
from ingot.api.resources import (
    DATA_IMPORT_CRONS,
    DATA_SOURCES,
    DATA_VOLUMES,
    EVENTS,
    STORAGE_CLASSES,
    VOLUME_CLAIMS,
)
from ingot.control.golden.crons import Crons
from ingot.control.golden.datasources import DataSources
from ingot.control.golden.polls import Polls
from ingot.control.volumes.datavolumes import DataVolumes
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import OCI_MANIFEST
from ingot.images.registry.settings import Settings
from ingot.kube.client import Client
from ingot.kube.clock import ManualClock
from ingot.kube.manager import Manager
from ingot.kube.objects import condition, is_true

CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
HOURLY = "0 * * * *"
ALL = (DataVolumes, DataSources, Polls, Crons)


@asynccontextmanager
async def cron_controllers(
    client: Client, clock: ManualClock, kinds: Iterable[Callable[[Manager, ManualClock], object]] = ALL
) -> AsyncIterator[None]:
    """All that golden images need but populators, or these."""
    manager = Manager(client)
    for kind in kinds:
        kind(manager, clock)
    running = asyncio.create_task(manager.run(asyncio.Event()))
    try:
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def clear_crons(world: World) -> None:
    """Nothing is left that controllers of other tests would care for. Their own controllers are at work."""
    listed = await world.client.list(DATA_IMPORT_CRONS, world.namespace)
    crons = [each["metadata"]["name"] for each in listed["items"]]
    for name in crons:
        await world.client.delete(DATA_IMPORT_CRONS, name, world.namespace)
    for name in crons:
        await world.gone(DATA_IMPORT_CRONS, name)


class CronWorld:
    """One namespace, and one repository in the registry."""

    def __init__(self, world: World, registry: DockerRegistry) -> None:
        self.world = world
        self.registry = registry
        self.repository = f"{registry.host}/golden/{world.namespace}"

    @property
    def url(self) -> str:
        return f"docker://{self.repository}:latest"

    @property
    def template(self) -> Object:
        return {"spec": {"source": {"registry": {"url": self.url}}, "pvc": CLAIM}}

    def push(self, version: str, tag: str = "latest", settings: Settings | None = None) -> str:
        """Somebody publishes a version under a tag; its digest."""
        reference = Reference.parse(f"{self.repository}:{tag}")
        with Registry(settings or Settings()) as registry:
            config = registry.push_blob(reference, [b"{}"], media_type="application/vnd.oci.image.config.v1+json")
            manifest = {
                "schemaVersion": 2,
                "mediaType": OCI_MANIFEST,
                "config": {"mediaType": config.media_type, "digest": str(config.digest), "size": config.size},
                "layers": [],
                "annotations": {"version": version},
            }
            return str(registry.push_manifest(reference, json.dumps(manifest).encode(), OCI_MANIFEST))

    async def cron(self, name: str = "fedora", *, annotations: dict[str, str] | None = None, **spec: Any) -> Object:
        """A cron that follows the repository's latest, unless it says otherwise."""
        labels = spec.pop("labels", {})
        wanted = {"template": self.template, "schedule": HOURLY, "managedDataSource": "fedora", **spec}
        metadata = {"name": name, "annotations": annotations or {}, "labels": labels}
        return await self.world.create(DATA_IMPORT_CRONS, {"metadata": metadata, "spec": wanted})

    async def fill(self, name: str) -> None:
        """The populator: the import's claim has its volume, with all in it."""
        await eventually(lambda: self.world.get(VOLUME_CLAIMS, name))
        await self.world.bind(name)
        done = {names.POD_PHASE: "Succeeded", names.RUNNING: "false"}
        await self.world.change(VOLUME_CLAIMS, name, {"metadata": {"annotations": done}})

    async def fill_anew(self, name: str) -> None:
        """The same, where a claim of that name is about to go."""

        async def is_new() -> bool:
            await self.world.end_claims()
            claim = await self.world.get(VOLUME_CLAIMS, name)
            volume = await self.world.get(DATA_VOLUMES, name)
            return bool(claim["metadata"]["ownerReferences"][0]["uid"] == volume["metadata"]["uid"])

        # A cluster whose kinds have just been installed collects nothing of theirs for half a minute.
        await eventually(is_new, 60)
        await self.fill(name)

    async def fail(self, name: str, why: str = "this is no disk. This is final") -> None:
        """The populator: it cannot be filled, ever."""
        await eventually(lambda: self.world.get(VOLUME_CLAIMS, name))
        told = {names.FAILURE: json.dumps({"reason": "BadImage", "message": why})}
        await self.world.change(VOLUME_CLAIMS, name, {"metadata": {"annotations": told}})

    async def look(self, name: str = "fedora") -> None:
        """Somebody asks for a look now, and it is done."""
        told = str(asyncio.get_running_loop().time())
        await self.annotate(name, **{names.CHECK_NOW: told})
        await self.world.until(
            DATA_IMPORT_CRONS, name, lambda cron: cron["metadata"]["annotations"].get(names.CHECKED) == told
        )

    async def annotate(self, name: str = "fedora", **annotations: str | None) -> None:
        await self.world.change(DATA_IMPORT_CRONS, name, {"metadata": {"annotations": annotations}})

    async def serves(self, digest: str, name: str = "fedora") -> Object:
        """The DataSource, once it stands for that version and can be cloned."""

        def holds(link: Object) -> bool:
            pvc = link["spec"]["source"].get("pvc") or {}
            return str(pvc.get("name", "")).startswith(self.name_of(digest, name)) and is_true(link, "Ready")

        return await self.world.until(DATA_SOURCES, name, holds)

    def name_of(self, digest: str, name: str = "fedora") -> str:
        """The import of a version."""
        return f"{name}-{digest.removeprefix('sha256:')[:12]}"

    async def reason(self, reason: str, name: str = "fedora") -> Object:
        """The condition UpToDate of a cron, once it has that reason."""

        def holds(cron: Object) -> bool:
            return (condition(cron, "UpToDate") or {}).get("reason") == reason

        found = condition(await self.world.until(DATA_IMPORT_CRONS, name, holds), "UpToDate")
        assert found is not None
        return found

    async def told(self, words: str, name: str = "fedora") -> None:
        """The message of UpToDate has these words at last."""

        def holds(cron: Object) -> bool:
            return words in (condition(cron, "UpToDate") or {}).get("message", "")

        await self.world.until(DATA_IMPORT_CRONS, name, holds)

    async def event(self, reason: str, words: str, kind: str = "Normal", name: str = "fedora") -> None:
        """There is an event of a cron with that reason, of that kind, at last; its message has these words."""

        async def look() -> bool:
            listed = await self.world.client.list(
                EVENTS, self.world.namespace, field_selector=f"involvedObject.name={name}"
            )
            return any(
                (each["reason"], each["type"]) == (reason, kind) and words in each["message"]
                for each in listed["items"]
            )

        await eventually(look)

    async def release(self, version: str) -> str:
        """A version is published, seen, imported and served; its digest."""
        digest = self.push(version)
        await self.look()
        await self.fill(self.name_of(digest))
        await self.serves(digest)
        return digest

    async def imports(self) -> set[str]:
        listed = await self.world.client.list(DATA_VOLUMES, self.world.namespace)
        return {each["metadata"]["name"] for each in listed["items"] if "deletionTimestamp" not in each["metadata"]}

    async def until_imports(self, chosen: Callable[[set[str]], set[str]]) -> set[str]:
        """Those that are chosen, once there are any."""

        async def look() -> set[str]:
            return chosen(await self.imports())

        return await eventually(look)

    async def clear(self) -> None:
        await clear_crons(self.world)

    async def make_class(self, name: str, *, default: bool = False) -> str:
        """A StorageClass of this namespace's own."""
        metadata: Object = {"name": f"{name}-{self.world.namespace}"}
        if default:
            metadata["annotations"] = {"storageclass.kubevirt.io/is-default-virt-class": "true"}
        await self.world.client.create(STORAGE_CLASSES, {"metadata": metadata, "provisioner": "example.com/far"})
        return str(metadata["name"])
