import pytest
from access_world import rule, url

from ingot.api.object import Object
from ingot.standalone.access.rules import Rule, compact, uncovered


@pytest.mark.parametrize(
    ("given", "asked", "allowed"),
    [
        (rule("get", "core", "pods"), ("get", "", "pods", ""), True),
        (rule("get", "core", "pods"), ("list", "", "pods", ""), False),
        (rule("get", "core", "pods"), ("get", "apps", "pods", ""), False),
        (rule("get", "core", "pods"), ("get", "", "pods", "log"), False),
        (rule("get", "core", "pods/log"), ("get", "", "pods", "log"), True),
        (rule("get", "core", "pods/log"), ("get", "", "pods", ""), False),
        (rule("get", "core", "*/scale"), ("get", "", "deployments", "scale"), True),
        (rule("get", "core", "*/scale"), ("get", "", "deployments", "status"), False),
        (rule("get", "core", "*/scale"), ("get", "", "deployments", ""), False),
        (rule("*", "*", "*"), ("frobnicate", "any.group", "things", "sub"), True),
        (rule("get", "*", "pods"), ("get", "apps", "pods", ""), True),
        (url("/pods"), ("get", "", "pods", ""), False),
        ({}, ("get", "", "pods", ""), False),
    ],
)
def test_what_a_rule_allows_on_resources(given: Object, asked: tuple[str, str, str, str], allowed: bool) -> None:
    assert Rule.of(given).allows_resource(*asked) is allowed


@pytest.mark.parametrize(
    ("urls", "path", "allowed"),
    [
        (["/healthz"], "/healthz", True),
        (["/healthz"], "/healthz/etcd", False),
        (["/healthz/*"], "/healthz/etcd", True),
        (["/healthz/*"], "/healthz", False),
        (["/heal*"], "/healthz", True),
        (["*"], "/anything", True),
        ([], "/healthz", False),
    ],
)
def test_what_a_rule_allows_on_paths(urls: list[str], path: str, allowed: bool) -> None:
    assert Rule.of(url(*urls)).allows_path("get", path) is allowed
    assert not Rule.of(url(*urls)).allows_path("post", path)


@pytest.mark.parametrize(
    ("held", "wanted", "covered"),
    [
        (rule("get list", "core", "pods"), rule("get", "core", "pods"), True),
        (rule("get", "core", "pods"), rule("get list", "core", "pods"), False),
        (rule("*", "*", "*"), rule("get", "apps", "pods/exec", "one"), True),
        (rule("get", "core", "pods"), rule("get", "core", "pods", "one"), True),
        (rule("get", "core", "pods", "one"), rule("get", "core", "pods"), False),
        (rule("get", "core", "pods", "one", "two"), rule("get", "core", "pods", "two"), True),
        (rule("get", "core", "pods", "one"), rule("get", "core", "pods", "two"), False),
        (rule("get", "core", "*/log"), rule("get", "core", "pods/log"), True),
        (rule("get", "core", "*/log"), rule("get", "core", "pods"), False),
        (rule("get", "core", "pods"), rule("get", "core", "*"), False),
        (rule("get", "core", "pods"), rule("*", "core", "pods"), False),
        (url("/a/*"), url("/a/b"), True),
        (url("/a/*"), url("/a/*"), True),
        (url("/a/b"), url("/a/*"), False),
        (rule("*", "*", "*"), url("/a"), False),
    ],
)
def test_what_a_rule_covers(held: Object, wanted: Object, covered: bool) -> None:
    assert (uncovered([Rule.of(held)], [Rule.of(wanted)]) == []) is covered


def test_rules_cover_together_part_by_part() -> None:
    held = [Rule.of(rule("get", "core", "pods")), Rule.of(rule("list", "core", "pods"))]
    missing = uncovered(held, [Rule.of(rule("get list watch", "core", "pods"))])
    assert missing == [Rule(("watch",), ("",), ("pods",))]


def test_compact_gathers_the_verbs_of_a_resource_and_leaves_urls() -> None:
    parts = Rule.of(rule("get list", "core", "pods", "one")).parts() + Rule.of(url("/a", verbs="get post")).parts()
    assert [str(each) for each in compact(parts)] == [
        '{APIGroups:[""], Resources:["pods"], ResourceNames:["one"], Verbs:["get" "list"]}',
        '{NonResourceURLs:["/a"], Verbs:["get"]}',
        '{NonResourceURLs:["/a"], Verbs:["post"]}',
    ]


def test_a_rule_returns_to_the_wire_as_it_came() -> None:
    for each in (rule("get", "core apps", "pods", "one"), url("/a")):
        assert Rule.of(each).wire() == each
