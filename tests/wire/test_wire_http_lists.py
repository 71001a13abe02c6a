"""Lists: pages of one moment, and which moment is asked for."""

import pytest

from ingot.kube.client import Client
from wire.exchange import Exchange
from wire.kinds import CONFIG_MAPS, config_map


@pytest.fixture
async def path(client: Client, namespace: str) -> str:
    """The collection of three ConfigMaps, all labelled."""
    for name in ("a", "b", "c"):
        await client.create(CONFIG_MAPS, {**config_map(name, {"of": "case"}), "metadata": meta(name, namespace)})
    return CONFIG_MAPS.path(namespace)


def meta(name: str, namespace: str) -> dict[str, object]:
    return {"name": name, "namespace": namespace, "labels": {"of": "case"}}


async def test_a_list_has_a_kind_and_a_revision_but_its_items_do_not(http: Exchange, path: str) -> None:
    answer = await http.get(path, labelSelector="of=case")
    assert (answer.body["kind"], answer.body["apiVersion"]) == ("ConfigMapList", "v1")
    assert not any("kind" in item for item in answer.body["items"])


async def test_an_empty_list_has_an_empty_array(http: Exchange, path: str) -> None:
    answer = await http.get(path, labelSelector="of=nobody")
    assert answer.body["items"] == []


async def test_a_selector_may_be_long(http: Exchange, path: str) -> None:
    values = ",".join(f"value-{number}" for number in range(3000))
    answer = await http.get(path, labelSelector=f"of in (case,{values})", record="GET by 3,001 values of a label")
    assert [item["metadata"]["name"] for item in answer.body["items"]] == ["a", "b", "c"]


async def test_a_megabyte_of_headers_is_too_much(http: Exchange, path: str) -> None:
    for headers in ({"X-A": "x" * 1_500_000}, {f"X-{number}": "x" * 100_000 for number in range(15)}):
        answer = await http.get(path, headers=headers)
        assert answer.status == 431


async def test_pages_show_one_moment(http: Exchange, path: str, client: Client, namespace: str) -> None:
    first = await http.get(path, limit="2")
    await client.delete(CONFIG_MAPS, "c", namespace)
    await client.create(CONFIG_MAPS, {"metadata": meta("d", namespace)})
    token = first.body["metadata"]["continue"]
    second = await http.send("GET", f"{path}?limit=2&continue={token}", record=f"{path}?limit=2&continue=…")
    names = [item["metadata"]["name"] for item in first.body["items"] + second.body["items"]]
    assert names == ["a", "b", "c", "kube-root-ca.crt"]
    assert first.body["metadata"]["remainingItemCount"] == 2
    assert first.body["metadata"]["resourceVersion"] == second.body["metadata"]["resourceVersion"]


async def test_a_selector_hides_how_many_remain(http: Exchange, path: str) -> None:
    answer = await http.get(path, limit="2", labelSelector="of=case")
    assert "remainingItemCount" not in answer.body["metadata"]
    assert answer.body["metadata"]["continue"]


async def test_a_token_that_is_garbage_is_refused(http: Exchange, path: str) -> None:
    for token in ("garbage", "e30", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIifQ"):
        answer = await http.get(path, limit="2", _continue=token)
        assert answer.status == 400, token


async def test_a_token_and_a_revision_exclude_each_other(http: Exchange, path: str) -> None:
    first = await http.get(path, limit="2")
    token = first.body["metadata"]["continue"]
    target = f"{path}?continue={token}&resourceVersion=1"
    answer = await http.send("GET", target, record=f"{path}?continue=…&resourceVersion=1")
    assert answer.status == 400


async def test_a_limit_is_a_number(http: Exchange, path: str) -> None:
    for limit in ("many", "1.5", "99999999999999999999"):
        assert (await http.get(path, limit=limit)).status == 400, limit
    assert (await http.get(path, limit="-1")).status == 200


async def test_a_list_is_no_watch_if_it_says_so(http: Exchange, path: str) -> None:
    for no in ("0", "false", "FALSE"):
        assert (await http.get(path, watch=no)).body["kind"] == "ConfigMapList", no


async def test_a_past_revision_can_be_listed_exactly(http: Exchange, path: str, client: Client, namespace: str) -> None:
    then = (await client.list(CONFIG_MAPS, namespace))["metadata"]["resourceVersion"]
    await client.delete(CONFIG_MAPS, "b", namespace)
    target = f"{path}?labelSelector=of%3Dcase&resourceVersionMatch=Exact&resourceVersion={then}"
    answer = await http.send("GET", target, record="a list of exactly that revision")
    assert [item["metadata"]["name"] for item in answer.body["items"]] == ["a", "b", "c"]
    assert answer.body["metadata"]["resourceVersion"] == then


async def test_not_older_than_may_be_newer(http: Exchange, path: str) -> None:
    answer = await http.get(path, labelSelector="of=case", resourceVersion="1", resourceVersionMatch="NotOlderThan")
    assert [item["metadata"]["name"] for item in answer.body["items"]] == ["a", "b", "c"]
    answer = await http.get(path, labelSelector="of=case", resourceVersion="0")
    assert len(answer.body["items"]) == 3


async def test_a_revision_that_is_yet_to_come_is_a_timeout(http: Exchange, path: str) -> None:
    answer = await http.get(path, resourceVersion="999999999", resourceVersionMatch="NotOlderThan")
    assert answer.status == 504
    assert answer.headers["Retry-After"] == "1"


async def test_a_match_needs_a_revision_that_it_can_match(http: Exchange, path: str) -> None:
    for query in (
        {"resourceVersionMatch": "Exact"},
        {"resourceVersionMatch": "Exact", "resourceVersion": "0"},
        {"resourceVersionMatch": "Roughly", "resourceVersion": "1"},
        {"resourceVersionMatch": "NotOlderThan", "_continue": "abc"},
    ):
        assert (await http.get(path, **query)).status == 422, query


async def test_a_revision_is_a_number(http: Exchange, path: str) -> None:
    for target in (path, f"{path}/a"):
        answer = await http.get(target, resourceVersion="latest")
        assert 'Invalid value: "latest"' in answer.body["message"]


async def test_one_object_is_read_at_least_as_new_as_asked(http: Exchange, path: str) -> None:
    assert (await http.get(f"{path}/a", resourceVersion="0")).status == 200
    assert (await http.get(f"{path}/a", resourceVersion="1")).status == 200


async def test_selectors_have_a_syntax(http: Exchange, path: str) -> None:
    for selector in ("a b", "a in", "a in (", "=b", "a=b c", "a==b==c", "a notin ()", "!"):
        assert (await http.get(path, labelSelector=selector)).status in (200, 400), selector
    for selector in ("metadata.name", "a=b,c", "metadata.name>a", "=b"):
        assert (await http.get(path, fieldSelector=selector)).status == 400, selector


async def test_a_list_spans_all_namespaces(http: Exchange, path: str, namespace: str) -> None:
    answer = await http.get("/api/v1/configmaps", fieldSelector=f"metadata.namespace={namespace},metadata.name!=a")
    assert [item["metadata"]["name"] for item in answer.body["items"]] == ["b", "c", "kube-root-ca.crt"]


async def test_a_namespace_that_is_not_there_is_empty(http: Exchange) -> None:
    answer = await http.get("/api/v1/namespaces/no-such-place/configmaps")
    assert (answer.status, answer.body["items"]) == (200, [])


async def test_a_collection_is_deleted_by_selector(http: Exchange, path: str, client: Client, namespace: str) -> None:
    answer = await http.send("DELETE", path, labelSelector="of=case", fieldSelector="metadata.name!=b")
    assert [item["metadata"]["name"] for item in answer.body["items"]] == ["a", "c"]
    left = await client.list(CONFIG_MAPS, namespace, label_selector="of=case")
    assert [item["metadata"]["name"] for item in left["items"]] == ["b"]


async def test_a_dry_run_of_deleting_a_collection_deletes_nothing(http: Exchange, path: str) -> None:
    await http.send("DELETE", path, labelSelector="of=case", dryRun="All")
    answer = await http.get(path, labelSelector="of=case")
    assert len(answer.body["items"]) == 3
