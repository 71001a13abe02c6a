"""What an SSP does not leave behind (G5)."""

from collections.abc import AsyncIterator
from typing import cast

import pytest

from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.resources import DATA_IMPORT_CRONS
from ingot.control.golden import belonging
from ingot.control.golden.freshness import Freshness
from ingot.kube.client import Client
from ingot.kube.manager import Manager

SSP: Object = {
    "apiVersion": "ssp.kubevirt.io/v1beta2",
    "kind": "SSP",
    "metadata": {"name": "ssp", "namespace": "kubevirt", "uid": "ssp"},
}


class Server:
    """In place of a client of a server that has these crons."""

    def __init__(self, *crons: Object) -> None:
        self._crons = crons

    async def pages(self, resource: Resource) -> AsyncIterator[Object]:
        assert resource == DATA_IMPORT_CRONS
        yield {"items": list(self._crons)}


@pytest.mark.parametrize("own", [True, False])
async def test_an_ssp_stays_for_a_cron_that_the_cache_is_yet_to_show(own: bool) -> None:
    cron: Object = {
        "metadata": {"name": "fedora", "namespace": "golden-images"},
        "spec": {"managedDataSource": "fedora"},
    }
    if own:
        belonging.take(cron, SSP, made=True)
    freshness = Freshness(Manager(cast("Client", Server(cron))))
    assert await freshness.end(SSP, orphaned=False) is not own
