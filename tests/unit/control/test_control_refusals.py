"""What a server, or somebody's webhook, will not take is told whatever its code; what passes is not."""

from typing import cast

import pytest

from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.resources import DATA_SOURCES, PODS
from ingot.api.status import ApiError
from ingot.control.golden.keeper import Keeper
from ingot.control.golden.links import LinkRefused, Links
from ingot.control.snapshots.saved_origins import Hindered
from ingot.control.snapshots.saving import Savers
from ingot.control.snapshots.target import NotYet, refused
from ingot.kube.cache import Cache, key_of
from ingot.kube.client import Client
from ingot.kube.clock import SYSTEM
from ingot.kube.events import Recorder
from ingot.kube.manager import Manager

FINAL = [ApiError(code, "", "the label team is missing") for code in (400, 403, 413, 422, 500)]
PASSING = [
    ApiError(429, "TooManyRequests", "later"),
    ApiError(503, "ServiceUnavailable", "later", {"retryAfterSeconds": 1}),
]
DATA_SOURCE: Object = {
    "metadata": {"name": "fedora", "namespace": "golden", "resourceVersion": "1"},
    "spec": {"source": {}},
}
CRON: Object = {
    "apiVersion": "cdi.kubevirt.io/v1beta1",
    "kind": "DataImportCron",
    "metadata": {"name": "fedora", "namespace": "golden", "uid": "1"},
    "spec": {"managedDataSource": "fedora", "template": {"spec": {}}},
}


def client(error: ApiError) -> Client:
    """One whose server takes nothing."""

    class Refusing:
        async def create(self, resource: Resource, obj: Object) -> Object:
            raise error

        async def patch(self, resource: Resource, name: str, change: Object, namespace: str) -> Object:
            raise error

    return cast("Client", Refusing())


def named(error: ApiError) -> str:
    return str(error.code)


def mark(obj: Object) -> None:
    obj["metadata"]["labels"] = {"mine": "true"}


async def kept(error: ApiError, *, there: bool) -> Keeper:
    """What comes of keeping the DataSource, which has to be made, or changed where it is there."""
    keeper, cache = Keeper(client(error)), Cache()
    if there:
        cache.put(key_of(DATA_SOURCE), DATA_SOURCE)
    await keeper.keep(DATA_SOURCES, cache, DATA_SOURCE, mark)
    return keeper


@pytest.mark.parametrize("error", FINAL, ids=named)
async def test_what_is_refused_is_told(error: ApiError) -> None:
    for there in (False, True):
        keeper = await kept(error, there=there)
        assert (len(keeper.problems), keeper.is_late) == (1, False)
        assert error.message in keeper.problems[0]
    manager = Manager(client(error))
    with pytest.raises(LinkRefused, match=error.message):
        await Links(manager, Recorder(manager.client, "test"), SYSTEM).ensured(CRON)
    with pytest.raises(Hindered, match=error.message):
        await Savers(manager)._make(PODS, {"metadata": {"name": "saver"}})
    assert isinstance(refused("Refused", "the machine", error), NotYet)


@pytest.mark.parametrize("error", PASSING, ids=named)
async def test_what_passes_is_raised(error: ApiError) -> None:
    for there in (False, True):
        with pytest.raises(ApiError):
            await kept(error, there=there)
    manager = Manager(client(error))
    with pytest.raises(ApiError):
        await Links(manager, Recorder(manager.client, "test"), SYSTEM).ensured(CRON)
    with pytest.raises(ApiError):
        await Savers(manager)._make(PODS, {"metadata": {"name": "saver"}})
    with pytest.raises(ApiError):
        refused("Refused", "the machine", error)


async def test_a_namespace_that_is_gone_is_told_and_what_somebody_else_was_quicker_with_is_done_again() -> None:
    gone = ApiError(404, "NotFound", "namespaces not found")
    assert len((await kept(gone, there=False)).problems) == 1
    for error, there in (
        (gone, True),
        (ApiError(409, "Conflict", "changed"), True),
        (ApiError(409, "AlreadyExists", ""), False),
    ):
        keeper = await kept(error, there=there)
        assert (keeper.problems, keeper.is_late) == ([], True)
