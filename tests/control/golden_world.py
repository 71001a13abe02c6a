"""Golden images as a test plays them: a person who makes claims and labels, and a cron that adopts and moves."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from control.world import World
from eventual import eventually
from ingot.api.cdi.names import IMPORT_CRON
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resource import Resource
from ingot.api.resources import (
    DATA_IMPORT_CRONS,
    DATA_SOURCES,
    DATA_VOLUMES,
    HYPERCONVERGEDS,
    NAMESPACES,
    SSPS,
    TEMPLATES,
    VOLUME_CLAIMS,
)
from ingot.api.status import ApiError
from ingot.control.golden.common import NAMESPACE
from ingot.kube.client import Client
from ingot.kube.manager import Manager

# Nobody listens there.
IMAGE = "docker://127.0.0.1:9/disks/fedora"
# What tests make, in the order in which it goes.
_ALL = (HYPERCONVERGEDS, SSPS, DATA_IMPORT_CRONS, DATA_SOURCES, DATA_VOLUMES, TEMPLATES, VOLUME_CLAIMS)


class Golden(World):
    """A world whose `images` are those of the whole cluster. What it makes is in its `places`."""

    def __init__(self, world: World) -> None:
        super().__init__(world.client, world.namespace, world.clock)
        self.images = World(world.client, NAMESPACE, world.clock)
        self.places = {world.namespace, self.hidden}

    @property
    def hidden(self) -> str:
        """A namespace that is made for common images, if a test says so."""
        return f"{self.namespace}-hidden"

    async def enter(self, place: str) -> None:
        """There is a namespace of that name, for this test too."""
        with suppress(ApiError):
            await self.client.create(NAMESPACES, {"metadata": {"name": place}})
        self.places.add(place)

    async def ssp(self, name: str = "ssp-cr", *crons: Object, namespace: str = "", **common: Any) -> Object:
        """An SSP that has brought up what it says."""
        spec = {"commonTemplates": {"dataImportCronTemplates": list(crons), **common}}
        where = namespace or self.namespace
        made = {"apiVersion": SSPS.api_version, "kind": "SSP", "metadata": {"name": name, "namespace": where}}
        await self.client.create(SSPS, {**made, "spec": spec})
        return await self.deployed(name, where)

    async def deployed(self, name: str = "ssp-cr", namespace: str = "") -> Object:
        """The SSP once it has brought up its newest spec."""
        where = World(self.client, namespace or self.namespace, self.clock)

        def holds(ssp: Object) -> bool:
            status = ssp.get("status") or {}
            is_new = status.get("observedGeneration") == ssp["metadata"]["generation"]
            return bool(is_new and status.get("phase") == "Deployed")

        return await where.until(SSPS, name, holds)

    async def order(self, *crons: Object) -> Object:
        """The SSP asks for these crons and no others."""
        patch = {"spec": {"commonTemplates": {"dataImportCronTemplates": list(crons)}}}
        await self.change(SSPS, "ssp-cr", patch)
        return await self.deployed()

    async def claim(self, name: str) -> Object:
        """A person's own image."""
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        return await self.images.create(VOLUME_CLAIMS, {"metadata": {"name": name}, "spec": spec})

    async def adopt(self, cron: str, source: str, claim: str) -> Object:
        """The cron: has imported a claim, and moves the DataSource there."""
        owner = await self.images.get(DATA_IMPORT_CRONS, cron)
        reference = {
            "apiVersion": DATA_IMPORT_CRONS.api_version,
            "kind": "DataImportCron",
            "name": cron,
            "uid": uid_of(owner),
            "controller": False,
            "blockOwnerDeletion": False,
        }

        async def write() -> Object:
            found = await self.images.get(DATA_SOURCES, source)
            found["metadata"].setdefault("labels", {})[IMPORT_CRON] = cron
            found["metadata"].setdefault("ownerReferences", []).append(reference)
            found["spec"] = {"source": {"pvc": {"name": claim, "namespace": NAMESPACE}}}
            return await self.client.replace(DATA_SOURCES, found)

        return await eventually(write)

    async def clear(self) -> None:
        """Nothing of this is left for the next test."""
        for resource in _ALL:
            for obj in await self.made(resource):
                with suppress(ApiError):
                    await self.client.delete(resource, name_of(obj), obj["metadata"]["namespace"])

            async def none_left(resource: Resource = resource) -> bool:
                await self.images.end_claims()
                return not await self.made(resource)

            await eventually(none_left)

    async def made(self, resource: Resource) -> list[Object]:
        """All of a kind in our places. What other tests have left elsewhere is none of ours."""
        lists = [await self.client.list(resource, place) for place in self.places]
        return [each for found in lists for each in found["items"]]


def cron(name: str = "fedora-image-cron", source: str = "fedora", **more: Any) -> Object:
    """A cron template as the seed has it."""
    metadata = {"name": name, **more.pop("metadata", {})}
    spec = {"source": {"registry": {"url": IMAGE}}, "managedDataSource": source, **more}
    return {"metadata": metadata, "spec": spec}


@asynccontextmanager
async def at_work(
    world: World, *controllers: Callable[..., object], client: Client | None = None
) -> AsyncIterator[Golden]:
    """Golden images of a cluster, with these controllers at work, on the clock of the world outside: none of them waits
    for anything but another try. `client` is theirs, if they are to have other rights than the test."""
    golden = Golden(world)
    manager, stop = Manager(client or world.client), asyncio.Event()
    for controller in controllers:
        controller(manager)
    await golden.enter(NAMESPACE)
    running = asyncio.create_task(manager.run(stop))
    try:
        yield golden
    finally:
        # While somebody is there to let go of it; also after a test that failed, so that the next one does not.
        try:
            await golden.clear()
        finally:
            stop.set()
            await running
