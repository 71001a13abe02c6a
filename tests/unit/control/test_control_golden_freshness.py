"""What an SSP does not leave behind (G5)."""

from collections.abc import AsyncIterator
from typing import cast

import pytest

from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.resources import DATA_IMPORT_CRONS, SSPS
from ingot.control.golden import belonging
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
