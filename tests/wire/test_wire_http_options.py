"""Options of requests: dry runs, field validation, managers, preconditions, propagation."""

import json
from typing import Any

import pytest

from ingot.api.object import Object
from ingot.kube.client import Client
from wire.customs import gadget, shared
from wire.exchange import Exchange
from wire.kinds import CONFIG_MAPS, config_map


@pytest.fixture
def path(namespace: str) -> str:
    return CONFIG_MAPS.path(namespace)


UNKNOWN: Object = {**config_map("one"), "surprise": 1, "metadata": {"name": "one", "odd": {"a": 1}}}
DUPLICATE = (
    '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"one","name":"one"},'
    '"data":{"a":"1","a":"2"},"immutable":false,"immutable":false}'
)


async def test_unknown_fields_are_warned_of_by_default(http: Exchange, path: str) -> None:
    answer = await http.send("POST", path, UNKNOWN)
    assert answer.status == 201
    assert answer.headers["Warning"] == [
        '299 - "unknown field \\"metadata.odd\\""',
        '299 - "unknown field \\"surprise\\""',
    ]


async def test_unknown_fields_are_refused_strictly_or_ignored(http: Exchange, path: str) -> None:
    assert (await http.send("POST", path, UNKNOWN, fieldValidation="Strict")).status == 400
    ignored = await http.send("POST", path, UNKNOWN, fieldValidation="Ignore")
    assert (ignored.status, "Warning" in ignored.headers) == (201, False)
    assert (await http.send("PUT", f"{path}/one", UNKNOWN, fieldValidation="Strict")).status == 400
    assert (await http.send("POST", path, UNKNOWN, fieldValidation="Perhaps")).status == 422


async def test_duplicate_fields_are_told(http: Exchange, path: str) -> None:
    assert (await http.send("POST", path, DUPLICATE, fieldValidation="Strict")).status == 400
    answer = await http.send("POST", path, DUPLICATE)
    assert (answer.status, "Warning" in answer.headers) == (201, True)


async def test_patches_are_validated_as_strictly(http: Exchange, path: str) -> None:
    await http.send("POST", path, config_map("one"))
    for kind in ("merge-patch+json", "strategic-merge-patch+json"):
        headers = {"Content-Type": f"application/{kind}"}
        patch = {"surprise": 1, "data": {"a": "1"}}
        strict = await http.send("PATCH", f"{path}/one", patch, headers=headers, fieldValidation="Strict")
        assert strict.status in (400, 422), kind
        warned = await http.send("PATCH", f"{path}/one", patch, headers=headers)
        assert (warned.status, "Warning" in warned.headers) == (200, True), kind
    operations = [{"op": "add", "path": "/surprise", "value": 1}]
    headers = {"Content-Type": "application/json-patch+json"}
    answer = await http.send("PATCH", f"{path}/one", operations, headers=headers, fieldValidation="Strict")
    assert answer.status == 422


async def test_duplicate_fields_of_patches_are_told(http: Exchange, path: str) -> None:
    await http.send("POST", path, config_map("one"))
    for kind, patch in (
        ("merge-patch+json", '{"data": {"a": "1", "a": "2"}, "surprise": 1}'),
        ("strategic-merge-patch+json", '{"data": {"a": "1", "a": "2"}}'),
        ("json-patch+json", '[{"op": "add", "op": "add", "path": "/data", "value": {}}]'),
    ):
        headers = {"Content-Type": f"application/{kind}"}
        strict = await http.send("PATCH", f"{path}/one", patch, headers=headers, fieldValidation="Strict")
        assert strict.status == 422, kind
        warned = await http.send("PATCH", f"{path}/one", patch, headers=headers)
        assert (warned.status, "Warning" in warned.headers) == (200, True), kind


async def test_custom_kinds_are_validated_as_strictly(http: Exchange, client: Client, namespace: str) -> None:
    resource = await shared(client)
    path = resource.path(namespace)
    odd = gadget(resource, "one", surprise=1, parts=[{"name": "a", "odd": 1}])
    assert (await http.send("POST", path, odd, fieldValidation="Strict")).status == 400
    twice = json.dumps(gadget(resource, "one")).replace('"colour": "red"', '"colour": "red", "colour": "blue"')
    assert (await http.send("POST", path, twice, fieldValidation="Strict")).status == 400
    warned = await http.send("POST", path, odd)
    assert (warned.status, "Warning" in warned.headers) == (201, True)


async def test_a_dry_run_has_one_value(http: Exchange, path: str) -> None:
    assert (await http.send("POST", path, config_map("one"), dryRun="All")).status == 201
    for value in ("Some", "all", "true"):
        assert (await http.send("POST", path, config_map("one"), dryRun=value)).status == 422, value
    assert (await http.get(f"{path}/one")).status == 404


async def test_a_manager_has_a_printable_name(http: Exchange, path: str) -> None:
    for manager in ("x" * 129, "a\nb"):
        answer = await http.send("POST", path, config_map("one"), fieldManager=manager)
        assert answer.status == 422


async def test_without_a_manager_the_user_agent_is_it(http: Exchange, path: str) -> None:
    answer = await http.send("POST", path, config_map("one", a="1"), headers={"User-Agent": "robot/1.2 (linux)"})
    assert answer.body["metadata"]["managedFields"][0]["manager"] == "robot"


async def test_a_deletion_answers_with_a_status(http: Exchange, path: str) -> None:
    await http.send("POST", path, config_map("one"))
    answer = await http.send("DELETE", f"{path}/one")
    assert (answer.body["kind"], answer.body["status"]) == ("Status", "Success")
    assert (await http.send("DELETE", f"{path}/one")).status == 404


async def test_a_deletion_has_preconditions(http: Exchange, path: str) -> None:
    made = (await http.send("POST", path, config_map("one"))).body["metadata"]
    other = {"uid": "11111111-2222-3333-4444-555555555555"}
    for before in (other, {"resourceVersion": "1"}):
        assert (await http.send("DELETE", f"{path}/one", {"preconditions": before})).status == 409, before
    held = {"uid": made["uid"], "resourceVersion": made["resourceVersion"]}
    assert (await http.send("DELETE", f"{path}/one", {"preconditions": held})).status == 200


async def test_a_deletion_has_known_options_only(http: Exchange, path: str) -> None:
    await http.send("POST", path, config_map("one"))
    bad: list[Any] = [
        {"propagationPolicy": "Sideways"},
        {"propagationPolicy": "Orphan", "orphanDependents": True},
        {"gracePeriodSeconds": "soon"},
        {"dryRun": ["Some"]},
        {"preconditions": "text"},
        {"kind": "Pod", "apiVersion": "v1"},
        {"kind": 1},
        {"dryRun": ["All", "Some"], "propagationPolicy": ""},
        [],
    ]
    for options in bad:
        answer = await http.send("DELETE", f"{path}/one", options)
        assert answer.status >= 400, options
    assert (await http.send("DELETE", f"{path}/one", propagationPolicy="Sideways")).status == 422
    assert (await http.send("DELETE", f"{path}/one", gracePeriodSeconds="soon")).status == 400


async def test_options_of_a_deletion_may_be_in_the_query(http: Exchange, path: str) -> None:
    held = config_map("one")
    held["metadata"]["finalizers"] = ["wire.test/a"]
    await http.send("POST", path, held)
    answer = await http.send("DELETE", f"{path}/one", propagationPolicy="Foreground")
    assert answer.status == 200
    assert set(answer.body["metadata"]["finalizers"]) == {"wire.test/a", "foregroundDeletion"}


async def test_a_flag_is_yes_unless_it_says_no(http: Exchange, path: str) -> None:
    await http.send("POST", path, config_map("one"))
    for orphan in ("maybe", "", "0", "False"):
        answer = await http.send("DELETE", f"{path}/one", dryRun="All", orphanDependents=orphan)
        assert answer.status == 200, orphan
    headers = {"Content-Type": "application/merge-patch+json"}
    assert (await http.send("PATCH", f"{path}/one", {}, headers=headers, force="false")).status == 422


async def test_a_patch_of_what_is_not_there_creates_only_by_apply(http: Exchange, path: str) -> None:
    for kind, status in (("merge-patch+json", 404), ("apply-patch+yaml", 201)):
        headers = {"Content-Type": f"application/{kind}"}
        answer = await http.send("PATCH", f"{path}/one", config_map("one"), headers=headers, fieldManager="wire")
        assert answer.status == status, kind
