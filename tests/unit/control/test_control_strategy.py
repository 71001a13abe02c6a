"""What each run strategy does in each situation."""

from typing import Any

import pytest

from ingot.api.object import Object
from ingot.control.strategy import Action, decide, is_set_to_start, outstanding, strategy_of

START: Object = {"action": "Start"}
STOP: Object = {"action": "Stop", "uid": "u1"}


def machine(strategy: str, *requests: Object, before: str = "") -> Object:
    status: Object = {"stateChangeRequests": list(requests)} if requests else {}
    if before:
        status["runStrategy"] = before
    return {"spec": {"runStrategy": strategy}, "status": status}


def instance(phase: str, **metadata: Any) -> Object:
    return {"metadata": {"uid": "u1", **metadata}, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("strategy", "first", "later", "asked"),
    [
        ("Always", Action.START, Action.START, Action.START),
        ("RerunOnFailure", Action.START, Action.NOTHING, Action.START),
        ("Once", Action.START, Action.NOTHING, Action.START),
        ("Manual", Action.NOTHING, Action.NOTHING, Action.START),
        ("WaitAsReceiver", Action.NOTHING, Action.NOTHING, Action.START),
        ("Halted", Action.NOTHING, Action.NOTHING, Action.SWITCH_ON),
    ],
)
def test_a_machine_without_an_instance(strategy: str, first: Action, later: Action, asked: Action) -> None:
    assert decide(machine(strategy), None) is first
    assert decide(machine(strategy, before=strategy), None) is later
    assert decide(machine(strategy, START, before=strategy), None) is asked


@pytest.mark.parametrize(
    ("strategy", "running", "succeeded", "failed"),
    [
        ("Always", Action.NOTHING, Action.STOP, Action.STOP),
        ("RerunOnFailure", Action.NOTHING, Action.STOP, Action.RESTART),
        ("Once", Action.NOTHING, Action.NOTHING, Action.NOTHING),
        ("Manual", Action.NOTHING, Action.STOP, Action.STOP),
        ("WaitAsReceiver", Action.NOTHING, Action.STOP, Action.STOP),
        ("Halted", Action.STOP, Action.STOP, Action.STOP),
    ],
)
def test_a_machine_with_an_instance(strategy: str, running: Action, succeeded: Action, failed: Action) -> None:
    subject = machine(strategy, before=strategy)
    assert decide(subject, instance("Running")) is running
    assert decide(subject, instance("Succeeded")) is succeeded
    assert decide(subject, instance("Failed")) is failed
    assert decide(subject, instance("Running", deletionTimestamp="now")) is Action.NOTHING
    assert decide(machine(strategy, STOP, before=strategy), instance("Running")) is Action.STOP


def test_a_stop_is_for_one_instance_only() -> None:
    other = machine("Manual", {"action": "Stop", "uid": "u0"}, before="Manual")
    assert decide(other, instance("Running")) is Action.NOTHING
    assert outstanding(other, instance("Running")) == []


def test_requests_are_done_in_order() -> None:
    restart = machine("Manual", STOP, START)
    assert outstanding(restart, instance("Running")) == [STOP, START]
    going = instance("Running", deletionTimestamp="now")
    assert outstanding(restart, going) == [START]
    assert outstanding(restart, None) == [START]
    assert outstanding(machine("Manual", START), instance("")) == []


def test_running_is_an_older_way_to_say_it() -> None:
    assert strategy_of({"spec": {"running": True}}) == "Always"
    assert strategy_of({"spec": {"running": False}}) == "Halted"


def test_whether_it_would_run() -> None:
    assert is_set_to_start(machine("Always"), None)
    assert not is_set_to_start(machine("Manual"), None)
    assert is_set_to_start(machine("Manual", START), None)
    assert is_set_to_start(machine("Manual"), instance("Running"))
