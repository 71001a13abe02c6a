"""What was made for a DataVolume goes, though no cache has heard of it yet."""

from typing import Any, cast

from ingot.api.cdi.names import CLONE_SOURCE_PREFIX
from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.resources import CLONE_SOURCES
from ingot.api.status import not_found
from ingot.control.volumes.maker import Maker
from ingot.kube.client import Client
from ingot.kube.manager import Manager

VOLUME: Object = {"metadata": {"name": "copy", "namespace": "ns", "uid": "uid-copy"}, "spec": {}}
NAME = f"{CLONE_SOURCE_PREFIX}uid-copy"


class Server:
    """Has one VolumeCloneSource."""

    def __init__(self) -> None:
        self.there = {(CLONE_SOURCES.plural, NAME)}

    async def get(self, resource: Resource, name: str, namespace: str) -> Object:
        if (resource.plural, name) not in self.there:
            raise not_found(resource.group, resource.plural, name)
        return {"metadata": {"name": name, "namespace": namespace, "uid": "uid-source"}}

    async def delete(self, resource: Resource, name: str, _namespace: str, **options: Any) -> None:
        assert options["uid"] == "uid-source"
        self.there.remove((resource.plural, name))


async def test_what_told_how_a_claim_is_filled_goes_though_no_cache_has_it() -> None:
    server = Server()
    maker = Maker(Manager(cast("Client", server)))
    await maker.clear(VOLUME)
    assert server.there, "the caches are empty"
    await maker.remove(VOLUME)
    assert not server.there
