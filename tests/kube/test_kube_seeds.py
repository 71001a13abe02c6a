"""Every YAML example of the seeds on a real cluster: it is stored there as it is on one machine, owners and all."""

from __future__ import annotations

import pytest

from ingot.api.object import Object, name_of
from ingot.api.resource import Resource
from ingot.api.resources import DATA_SOURCES, NAMESPACES
from ingot.api.status import ApiError
from ingot.kube.client import Client
from kube.pair import Pair, resource, stored_resource, versions
from unit.api.seed_examples import examples

EXAMPLES = examples()
# The owners of that one do not exist, so that it may be gone in the next moment.
LASTING = [name for name, obj in EXAMPLES.items() if obj["kind"] != "Pod" and name != "003-4-owner-references"]
MOMENT = "2021-06-01T01:01:01Z"
# What the DataVolume of the seeds clones: one whose DataSource is not there is refused.
GOLDEN = "golden-images"


@pytest.fixture(autouse=True)
async def golden(both: Pair) -> None:
    spec = {"source": {"pvc": {"namespace": GOLDEN, "name": "fedora-v33"}}}
    for client in (both.ours, both.theirs):
        await _there(client, NAMESPACES, {"metadata": {"name": GOLDEN}})
        await _there(client, DATA_SOURCES, {"metadata": {"name": "fedora", "namespace": GOLDEN}, "spec": spec})


async def _there(client: Client, kind: Resource, obj: Object) -> None:
    try:
        await client.create(kind, {"apiVersion": kind.api_version, "kind": kind.kind, **obj})
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise


@pytest.mark.parametrize("name", EXAMPLES)
async def test_an_example_is_stored_alike(both: Pair, name: str) -> None:
    asked = EXAMPLES[name]
    made = await both.stored(asked)
    assert (made["kind"], made["apiVersion"]) == (asked["kind"], stored_resource(asked).api_version)


@pytest.mark.parametrize("name", LASTING)
async def test_an_example_is_applied_again_alike(both: Pair, name: str) -> None:
    asked = {key: value for key, value in EXAMPLES[name].items() if key != "status"}
    first = await both.apply(asked)
    assert first["kind"] == asked["kind"], first
    again = await both.apply(asked)
    assert (again["spec"], again["metadata"]["generation"]) == (first["spec"], 1)


@pytest.mark.parametrize("name", LASTING)
async def test_an_example_reads_alike_in_every_version(both: Pair, name: str) -> None:
    stored = await both.stored(EXAMPLES[name])
    for version in versions(stored):
        read = await both.get(resource(stored, version), name_of(stored))
        assert read["apiVersion"] == resource(stored, version).api_version
        listed = await both.list(resource(stored, version))
        assert [item["spec"] for item in listed["items"]] == [read["spec"]]


async def test_the_status_of_the_cron_is_stored_alike(both: Pair) -> None:
    asked = EXAMPLES["003-6-dataimportcron"]
    made = await both.stored(asked)
    assert "status" not in made
    # The example has times of day where moments in time belong.
    status = {**asked["status"], "lastExecutionTimestamp": MOMENT, "lastImport": MOMENT}
    made = await both.patch(resource(asked), name_of(asked), {"status": status}, "status")
    assert made["status"]["lastImportedPVC"] == {"namespace": both.namespace, "name": "fedora-v33"}


async def test_the_status_of_the_data_source_is_stored_alike(both: Pair) -> None:
    asked = EXAMPLES["003-7-datasource"]
    await both.stored(asked)
    made = await both.patch(resource(asked), name_of(asked), {"status": asked["status"]}, "status")
    assert made["status"] == asked["status"]
