"""Selectors: Kubernetes' grammar, and a clear no to everything else."""

import pytest

from ingot.api.status import ApiError
from ingot.standalone.objects.selectors import fields, predicate

OBJECT = {
    "metadata": {"name": "web", "namespace": "prod", "labels": {"app": "web", "tier": "3", "example.io/x": ""}},
    "spec": {"nodeName": "n1", "unschedulable": True},
    "status": {"phase": "Running"},
}


@pytest.mark.parametrize(
    ("labels", "matches"),
    [
        ("app=web", True),
        ("app==web", True),
        ("app!=web", False),
        ("other!=web", True),
        ("app in (web, db)", True),
        ("app notin (web,db)", False),
        ("other notin (web)", True),
        ("app", True),
        ("!app", False),
        ("!other", True),
        ("example.io/x=", True),
        ("tier>2", True),
        ("tier<3", False),
        ("app>2", False),
        ("app=web,tier in (3,4),!gone", True),
        ("app=web,tier=4", False),
    ],
)
def test_label_selectors(labels: str, matches: bool) -> None:
    found = predicate(labels, "")
    assert found is not None
    assert found(OBJECT) is matches


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("metadata.name=web", True),
        ("metadata.name!=web", False),
        ("status.phase=Running,spec.nodeName=n1", True),
        ("spec.nodeName==n2", False),
        ("spec.unschedulable=true", True),
        ("spec.missing=", True),
    ],
)
def test_field_selectors(text: str, matches: bool) -> None:
    found = predicate("", text)
    assert found is not None
    assert found(OBJECT) is matches


def test_no_selector_is_no_predicate() -> None:
    assert predicate("", "") is None


def test_escaped_characters_in_field_selectors() -> None:
    assert fields(r"metadata.name=a\,b\=c") == (("metadata.name", True, "a,b=c"),)


@pytest.mark.parametrize("text", ["=", "a b", "app in web", "-bad=x", "app=-bad-", "tier>two", "app in (a,"])
def test_a_bad_label_selector_is_a_bad_request(text: str) -> None:
    with pytest.raises(ApiError) as refused:
        predicate(text, "")
    assert refused.value.code == 400


def test_a_bad_field_selector_is_a_bad_request() -> None:
    with pytest.raises(ApiError, match="can't understand 'nonsense'"):
        predicate("", "nonsense")


def test_a_kind_may_have_a_value_read_in_a_way_of_its_own() -> None:
    found = predicate("", "spec.off=false", (("spec.off", lambda obj: "true" if obj["spec"].get("off") else "false"),))
    assert found is not None
    assert found(OBJECT)
    assert not found({"spec": {"off": True}})
