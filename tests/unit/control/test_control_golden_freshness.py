"""What an SSP does not leave behind (G5)."""

from collections.abc import AsyncIterator
from typing import cast

import pytest

from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.resources import DATA_IMPORT_CRONS, DATA_SOURCES, SSPS
from ingot.api.status import conflict
from ingot.control.golden import belonging, linking
from ingot.control.golden.freshness import HELD, Freshness
from ingot.control.golden.keeper import Keeper
from ingot.control.golden.ssp import FINALIZER, SSPs
from ingot.kube.cache import key_of
from ingot.kube.client import Client
from ingot.kube.manager import Manager

SSP: Object = {
    "apiVersion": "ssp.kubevirt.io/v1beta2",
    "kind": "SSP",
    "metadata": {
        "name": "ssp",
        "namespace": "kubevirt",
        "uid": "ssp",
        "generation": 1,
        "resourceVersion": "1",
        "finalizers": [FINALIZER],
        "deletionTimestamp": "2026-01-01T00:00:00Z",
    },
}


class Server:
    """In place of a client of a server that has these crons. `freed`: whether the SSP may go."""

    def __init__(self, *crons: Object) -> None:
        self._crons = crons
        self.freed = False

    async def pages(self, resource: Resource) -> AsyncIterator[Object]:
        assert resource == DATA_IMPORT_CRONS
        yield {"items": list(self._crons)}

    async def patch(self, _: Resource, name: str, change: Object, namespace: str, **options: str) -> Object:
        assert (name, namespace) == ("ssp", "kubevirt")
        self.freed |= "finalizers" in change.get("metadata", {})
        return {**SSP, **({"status": change["status"]} if options else {})}


@pytest.mark.parametrize("own", [True, False])
async def test_an_ssp_stays_for_a_cron_that_the_cache_is_yet_to_show_and_looks_again(own: bool) -> None:
    cron: Object = {
        "metadata": {"name": "fedora", "namespace": "golden-images"},
        "spec": {"managedDataSource": "fedora"},
    }
    if own:
        belonging.take(cron, SSP, made=True)
    server = Server(cron)
    manager = Manager(cast("Client", server))
    ssps = SSPs(manager)
    manager.informer(SSPS).cache.put(key_of(SSP), SSP)
    again = await ssps.reconcile(key_of(SSP))
    assert (again is not None, server.freed) == (own, not own)


class Late(Server):
    """One whose DataSources somebody has changed since. `freed`: whether a cron may go."""

    async def create(self, _: Resource, made: Object) -> Object:
        return made

    async def patch(self, resource: Resource, name: str, change: Object, namespace: str, **options: str) -> Object:
        if resource == DATA_SOURCES:
            raise conflict(resource.group, resource.plural, name, "the object has been modified")
        self.freed = True
        return change


async def test_a_cron_stays_until_its_datasource_is_taken_back() -> None:
    """Else nobody knew any more who has brought what that stands for."""
    gone = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [HELD], "uid": "cron", "resourceVersion": "1"}
    cron: Object = {
        "metadata": {"name": "cron", "namespace": "golden-images", **gone},
        "spec": {"managedDataSource": "fedora"},
    }
    source = linking.new("fedora")
    source["metadata"] |= {"uid": "source", "resourceVersion": "1"}
    linking.follow(source, ["cron"])
    for obj in (cron, source):
        belonging.take(obj, SSP, made=True)
    server = Late()
    client = cast("Client", server)
    manager, keeper = Manager(client), Keeper(client)
    freshness = Freshness(manager)
    manager.informer(DATA_IMPORT_CRONS).cache.put(key_of(cron), cron)
    manager.informer(DATA_SOURCES).cache.put(key_of(source), source)
    await freshness.keep(keeper, SSP)
    assert (keeper.is_late, server.freed) == (True, False)
