"""A server's world without its HTTP: the store, the kinds, and one part of the server at work."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from ingot.api.object import Object
from ingot.standalone.builtin.admission import Lookup
from ingot.standalone.builtin.kinds import DEFINITIONS
from ingot.standalone.jsontext import decode
from ingot.standalone.lifecycle.inside import Inside
from ingot.standalone.objects.deletion import Options
from ingot.standalone.objects.world import World
from ingot.standalone.resources.catalog import Catalog
from ingot.standalone.store.store import Store


class Scene:
    """What a test does to the objects of one world, as nobody in particular."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._inside = Inside(world, "test")

    async def create(self, key: str, obj: Object) -> None:
        await self._inside.create(self.world.catalog.known(key), obj)

    def read(self, key: str, namespace: str, name: str) -> Object | None:
        return self._inside.read(self.world.catalog.known(key), namespace, name)

    async def patch(self, key: str, namespace: str, name: str, subresource: str = "", **fields: Object) -> None:
        definition = self.world.catalog.known(key)
        await self._inside.change(definition, namespace, name, lambda obj: {**obj, **fields}, subresource)

    async def delete(self, key: str, namespace: str, name: str) -> None:
        await self._inside.delete(self.world.catalog.known(key), namespace, name, Options(grace=0))

    async def until(self, holds: Callable[[], bool]) -> None:
        changed = asyncio.Event()
        forget = self.world.store.listen(lambda _: changed.set())
        async with asyncio.timeout(5):
            while not holds():
                await changed.wait()
                changed.clear()
        forget()


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    store = Store(tmp_path / "ingot.db")

    def get(key: str, namespace: str, name: str) -> Object | None:
        entry = store.latest(key, namespace, name)
        return decode(entry.value) if entry else None

    def listed(key: str) -> list[Object]:
        return [decode(entry.value) for entry in store.collection(key)]

    made = Scene(World(store, Catalog(DEFINITIONS), {}, Lookup(get, listed)))
    await made.create("namespaces", {"metadata": {"name": "n"}})
    yield made
    store.close()
