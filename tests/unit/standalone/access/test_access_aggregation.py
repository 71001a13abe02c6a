import pytest

from ingot.api.object import Object
from ingot.standalone.access.aggregation import rules_of, selects


def role(name: str, label: str = "", gathers: str = "", rules: list[Object] | None = None) -> Object:
    made: Object = {"metadata": {"name": name, "labels": {label: "true"} if label else {}}, "rules": rules}
    if gathers:
        made["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {gathers: "true"}}]}
    return made


def gathered(name: str, *roles: Object) -> list[Object]:
    by_name = {each["metadata"]["name"]: each for each in roles}
    return rules_of(by_name[name], by_name)


A, B = {"verbs": ["a"]}, {"verbs": ["b"]}


def test_a_plain_role_has_its_own_rules() -> None:
    assert gathered("plain", role("plain", rules=[A])) == [A]
    assert gathered("plain", role("plain")) == []


def test_a_gathering_role_has_those_of_others_in_order_of_name_and_once() -> None:
    roles = [role("all", gathers="x", rules=[B]), role("two", "x", rules=[B, A]), role("one", "x", rules=[A])]
    assert gathered("all", *roles, role("other", "y", rules=[B])) == [A, B]


def test_gathered_roles_may_gather() -> None:
    roles = [role("admin", gathers="edit"), role("edit", "edit", gathers="view"), role("view", "view", rules=[A])]
    assert gathered("admin", *roles) == [A]


def test_a_circle_ends() -> None:
    roles = [role("one", "x", gathers="y", rules=[B]), role("two", "y", gathers="x"), role("three", "x", rules=[A])]
    assert gathered("one", *roles) == [A]


@pytest.mark.parametrize(
    ("selector", "chosen"),
    [
        ({}, True),
        ({"matchLabels": {"a": "1"}}, True),
        ({"matchLabels": {"a": "2"}}, False),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]}, True),
        ({"matchExpressions": [{"key": "b", "operator": "In", "values": ["1"]}]}, False),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, False),
        ({"matchExpressions": [{"key": "b", "operator": "NotIn", "values": ["1"]}]}, True),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, False),
        ({"matchExpressions": [{"key": "a", "operator": "Resembles"}]}, False),
        ({"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "b", "operator": "Exists"}]}, False),
    ],
)
def test_selectors(selector: Object, chosen: bool) -> None:
    assert selects(selector, {"a": "1"}) is chosen
