"""Who types `ingot golden …`, and pushes what it follows."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from ingot.api.object import name_of
from ingot.api.resource import Resource
from ingot.api.resources import DATA_SOURCES
from ingot.cli.golden.options import NAMESPACE
from ingot.images.disk import open_disk
from ingot.images.push import PushOptions, push_disk
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.settings import Settings
from ingot.kube.client import Client
from ingot_up import IngotUp
from volumes.shelf import Shelf, ingot
from volumes.wares import MIB, sparse_bytes

SIZE = 4 * MIB


class Administrator:
    """Of the golden images of a machine."""

    def __init__(self, client: Client, server: IngotUp, directory: Path) -> None:
        self._client, self._server, self._directory = client, server, directory
        self.shelf = Shelf(client, NAMESPACE, server)

    async def golden(self, *words: str, code: int = 0) -> str:
        return await ingot(self._server, "golden", *words, code=code)

    async def rows(self, *words: str) -> list[dict[str, object]]:
        found: list[dict[str, object]] = json.loads(await self.golden(*words, "-o", "json"))
        return found

    async def row(self, name: str) -> dict[str, object]:
        return next(row for row in await self.rows("ls") if row["name"] == name)

    async def states(self, name: str) -> dict[str, str]:
        """The versions of an image, the newest first."""
        return {str(row["version"]): str(row["state"]) for row in await self.rows("history", name)}

    def file(self, name: str, seed: int) -> Path:
        """A disk, other for each seed."""
        made = self._directory / name
        made.write_bytes(sparse_bytes(SIZE, seed))
        return made

    async def push(self, seed: int, reference: str) -> None:
        disk = open_disk(self.file("pushed.raw", seed))
        try:
            with Registry(Settings()) as registry:
                await asyncio.to_thread(push_disk, registry, disk, Reference.parse(reference), PushOptions())
        finally:
            disk.close()

    async def content(self, name: str) -> bytes:
        """What a clone of the image would have in it."""
        link = await self._client.get(DATA_SOURCES, name, NAMESPACE)
        return await self.shelf.content(link["spec"]["source"]["pvc"]["name"], SIZE)

    async def there(self, resource: Resource, start: str) -> list[str]:
        """Objects of a kind in the golden namespace whose names begin so."""
        found = (await self._client.list(resource, NAMESPACE))["items"]
        return [name_of(each) for each in found if name_of(each).startswith(start)]
