"""What is left in a namespace on its way out, as its conditions tell it."""

from ingot.api.object import Object
from ingot.standalone.lifecycle.remains import Remains

THEN, NOW = "2020-01-01T00:00:00Z", "2020-01-01T00:00:09Z"


def by_type(conditions: list[Object]) -> dict[str, Object]:
    return {condition["type"]: condition for condition in conditions}


def test_an_empty_namespace_has_nothing_to_complain_of() -> None:
    conditions = Remains().conditions([], NOW)
    assert [condition["status"] for condition in conditions] == ["False"] * 5
    assert conditions[0]["type"] == "NamespaceDeletionDiscoveryFailure"


def test_resources_and_finalizers_are_counted_and_sorted() -> None:
    remains = Remains()
    remains.add("", "pods", [])
    remains.add("kubevirt.io", "virtualmachines", ["x.io/b", "x.io/a"])
    remains.add("kubevirt.io", "virtualmachines", ["x.io/b"])
    told = by_type(remains.conditions([], NOW))
    content, finalizers = told["NamespaceContentRemaining"], told["NamespaceFinalizersRemaining"]
    assert content["message"] == (
        "Some resources are remaining: pods. has 1 resource instances, "
        "virtualmachines.kubevirt.io has 2 resource instances"
    )
    assert finalizers["message"] == (
        "Some content in the namespace has finalizers remaining: "
        "x.io/a in 1 resource instances, x.io/b in 2 resource instances"
    )
    assert {content["status"], finalizers["status"]} == {"True"}


def test_a_time_changes_only_with_its_status() -> None:
    held = Remains()
    held.add("", "pods", ["x.io/a"])
    before = held.conditions([], THEN)
    assert held.conditions(before, NOW) == before
    after = by_type(Remains().conditions(before, NOW))
    assert after["NamespaceContentRemaining"]["lastTransitionTime"] == NOW
    assert after["NamespaceDeletionContentFailure"]["lastTransitionTime"] == THEN


def test_conditions_of_others_stay() -> None:
    other = {"type": "Other", "status": "True"}
    assert other in Remains().conditions([other], NOW)
