"""What --for says, and when it is reached."""

from typing import Any

import click
import pytest

from ingot.api.object import Object
from ingot.cli.goal import Condition, Created, Deleted, Field, parse


def obj(generation: int = 1, **status: Any) -> Object:
    return {"metadata": {"name": "x", "uid": "u1", "generation": generation}, "status": status}


def ready(status: str, **more: object) -> dict[str, Any]:
    return {"conditions": [{"type": "Ready", "status": status, **more}]}


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("condition=Ready", Condition("Ready", "True")),
        ("condition=Ready=Unknown", Condition("Ready", "Unknown")),
        ("create", Created()),
        ("delete", Deleted()),
        ("jsonpath={.status.phase}=Running", Field(".status.phase", "Running")),
        ("jsonpath='{.status.phase}'=Running", Field(".status.phase", "Running")),
        ("jsonpath={.status.phase}='Running'", Field(".status.phase", "Running")),
        ("jsonpath=.status.phase=Running", Field(".status.phase", "Running")),
        ("jsonpath=status.phase=a=b", Field(".status.phase", "a=b")),
        ("jsonpath={.status.phase}=", Field(".status.phase", "")),
        ("jsonpath={.status.phase}", Field(".status.phase", None)),
        ("jsonpath={.a[?(@.b==1)].c}=2", Field(".a[?(@.b==1)].c", "2")),
    ],
)
def test_goals_are_read(text: str, goal: object) -> None:
    assert parse(text) == goal


@pytest.mark.parametrize(
    "text", ["", "Ready", "condition=", "conditions=Ready", "jsonpath=", "jsonpath={.a}b", "jsonpath={.a[}"]
)
def test_what_is_no_goal_is_refused_with_what_would_be(text: str) -> None:
    with pytest.raises(click.BadParameter):
        parse(text)


def test_a_condition_is_met_by_its_status_in_any_case() -> None:
    goal = Condition("ready", "true")
    assert goal.met(obj(**ready("True")))
    assert not goal.met(obj(**ready("False")))
    assert not goal.met(obj())
    assert not goal.met(None)
    assert Condition("Ready", "False").met(obj(**ready("False")))


def test_a_condition_of_an_earlier_generation_does_not_count() -> None:
    assert not Condition("Ready").met(obj(2, **ready("True", observedGeneration=1)))
    assert Condition("Ready").met(obj(2, **ready("True", observedGeneration=2)))


def test_what_was_seen_of_a_condition_says_why() -> None:
    goal = Condition("Ready")
    assert goal.seen(obj(**ready("False", reason="Import", message="45%"))) == "Ready is False (Import: 45%)"
    assert goal.seen(obj(conditions=[{"type": "Bound"}])) == "it has no condition Ready (it has Bound)"
    assert goal.seen(obj()) == "it has no condition Ready yet"


def test_a_deletion_is_that_of_one_object_not_of_its_name() -> None:
    assert Deleted("u1").met(None)
    assert not Deleted("u1").met(obj())
    assert Deleted("u0").met(obj())


def test_what_was_seen_of_a_deletion_names_what_holds_it() -> None:
    held = obj()
    assert "nobody has deleted it" in Deleted().seen(held)
    held["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert "ending" in Deleted().seen(held)
    held["status"] = {"conditions": [{"status": "True", "message": "3 pods left"}]}
    assert "3 pods left" in Deleted().seen(held)
    held["metadata"]["finalizers"] = ["a/b", "c/d"]
    assert "a/b, c/d" in Deleted().seen(held)


def test_a_field_is_met_by_its_value_or_by_any() -> None:
    there = obj(phase="Running", ready=True, replicas=3)
    assert Field(".status.phase", "Running").met(there)
    assert not Field(".status.phase", "Failed").met(there)
    assert Field(".status.ready", "true").met(there)
    assert Field(".status.replicas", "3").met(there)
    assert Field(".status.phase").met(there)
    assert not Field(".status.none").met(there)
    assert Field(".status.none", "x").seen(there) == ".status.none is not set"
    assert Field(".status.phase", "x").seen(there) == ".status.phase is Running"
