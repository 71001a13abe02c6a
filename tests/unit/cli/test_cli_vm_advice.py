"""What is said to those who ask of a machine what its state forbids."""

from typing import Any

import pytest

from ingot.api.object import Object
from ingot.cli.vm.advice import standing
from ingot.cli.vm.found import Found


def machine(strategy: str) -> Object:
    return {"metadata": {"name": "web"}, "spec": {"runStrategy": strategy}}


def instance(phase: str, **metadata: Any) -> Object:
    return {"metadata": {"name": "web", **metadata}, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("strategy", "has", "told"),
    [
        ("Halted", None, "web is stopped; start it with `ingot vm start web`"),
        ("Manual", instance("Succeeded"), "web is stopped; start it with `ingot vm start web`"),
        ("RerunOnFailure", instance("Succeeded"), "web is stopped; start it"),
        ("RerunOnFailure", instance("Failed"), "web is about to start by itself"),
        ("Always", None, "web is about to start by itself"),
        ("Always", instance("Scheduling"), "web has not started yet; `ingot vm describe web` says what it waits for"),
        ("Manual", instance("Running", deletionTimestamp="now"), "web is being stopped"),
        ("Halted", instance("Running"), "web is being stopped"),
        ("Once", instance("Succeeded"), "web has ended. Its runStrategy is Once: to run it again, remove it with"),
        ("Once", instance("Running"), "web runs. Its runStrategy is Once: to run it again, remove it with"),
        ("Always", instance("Running"), "web runs by now; try again"),
    ],
)
def test_the_way_out_is_none_that_was_refused(strategy: str, has: Object | None, told: str) -> None:
    assert standing(Found(machine(strategy), has), "restart").startswith(told)


def test_what_ended_is_stopped_already_and_an_instance_alone_is_not_started_again() -> None:
    assert (
        standing(Found(machine("Once"), instance("Failed")), "stop") == "web is stopped already: there is nothing to do"
    )
    assert "is not started again" in standing(Found(None, instance("Failed")), "open its console")
