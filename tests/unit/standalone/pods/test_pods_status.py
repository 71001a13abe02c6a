"""Statuses of pods, from attempts made by hand."""

from pathlib import Path
from typing import Any

import pytest

from ingot.api.object import Object
from ingot.kube.objects import condition
from ingot.standalone.pods.attempt import Attempt
from ingot.standalone.pods.fault import PodFault
from ingot.standalone.pods.refusal import refusal
from ingot.standalone.pods.status import Picture, phase, status_of
from ingot.standalone.pods.user import User
from ingot.standalone.pods.view import View

NOW = 1_800_000_000.0


def a_pod(policy: str) -> Object:
    return {"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": {"restartPolicy": policy}}


@pytest.fixture
def view(tmp_path: Path) -> Any:
    def make(name: str, code: int | str | None) -> View:
        """A container that ended with `code`, that runs (None), or that has not begun ("")."""
        container = {"name": name, "image": "ingot"}
        if code == "":
            return View(container, None, None, None)
        attempt = Attempt(tmp_path / name, 0, 0)
        attempt.make(User())
        for file in ("pid", "exit") if code is not None else ("pid",):
            (attempt.directory / file).write_text(str(code))
        return View(container, None, attempt, code)  # type: ignore[arg-type]

    return make


@pytest.mark.parametrize(
    ("policy", "init", "main", "over", "wanted"),
    [
        ("Always", [], [""], False, "Pending"),
        ("Always", [], [None], False, "Running"),
        ("Always", [], [None, ""], False, "Running"),
        ("Always", [], [0], False, "Running"),
        ("Always", [None], [""], False, "Pending"),
        ("Always", [1], [""], False, "Pending"),
        ("Never", [1], [""], False, "Failed"),
        ("OnFailure", [], [0, 0], False, "Succeeded"),
        ("OnFailure", [], [0, 1], False, "Running"),
        ("Never", [0], [0, 1], False, "Failed"),
        ("Never", [], [0, None], False, "Running"),
        ("Always", [], [0], True, "Succeeded"),
        ("Always", [], [137], True, "Failed"),
        ("Always", [], [""], True, "Failed"),
    ],
)
def test_phases(view: Any, policy: str, init: list[Any], main: list[Any], over: bool, wanted: str) -> None:
    picture = Picture(
        [view(f"i{index}", code) for index, code in enumerate(init)],
        [view(f"c{index}", code) for index, code in enumerate(main)],
        over=over,
    )
    assert phase(a_pod(policy), picture) == wanted


def test_a_status_does_not_change_by_itself(view: Any) -> None:
    picture = Picture([view("i", 0)], [view("a", None), view("b", 1)], {"b": PodFault("CrashLoopBackOff", "later")})
    first = status_of(a_pod("Always"), picture, NOW)
    assert status_of(first, picture, NOW + 100) == first


def test_conditions_say_why_only_while_they_are_false(view: Any) -> None:
    waiting = status_of(a_pod("Always"), Picture([], [view("a", "")]), NOW)
    ready = condition(waiting, "Ready")
    assert ready is not None
    assert (ready["status"], ready["reason"]) == ("False", "ContainersNotReady")
    assert ready["message"] == "containers with unready status: [a]"
    done = condition(status_of(waiting, Picture([], [view("b", None)]), NOW + 9), "Ready")
    assert done is not None
    assert (done["status"], "reason" in done) == ("True", False)
    assert done["lastTransitionTime"] != ready["lastTransitionTime"]


def test_a_container_that_waits_shows_how_it_ended_before(view: Any) -> None:
    picture = Picture([], [view("a", 7)], {"a": PodFault("CrashLoopBackOff", "later")})
    [container] = status_of(a_pod("Always"), picture, NOW)["status"]["containerStatuses"]
    assert container["state"] == {"waiting": {"reason": "CrashLoopBackOff", "message": "later"}}
    assert container["lastState"]["terminated"]["exitCode"] == 7


def test_a_failure_is_the_reason_of_the_pod(view: Any) -> None:
    failure = PodFault("UnsupportedFeature", "no", final=True)
    status = status_of(a_pod("Always"), Picture([], [view("a", "")], failure=failure), NOW)["status"]
    assert (status["phase"], status["reason"], status["message"]) == ("Failed", "UnsupportedFeature", "no")


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ({"containers": [{}]}, ""),
        ({"containers": [{"lifecycle": {"postStart": {}}}]}, "spec.containers[0].lifecycle"),
        ({"containers": [{}], "initContainers": [{"restartPolicy": "Always"}]}, "spec.initContainers[0].restartPolicy"),
        ({"containers": [{"startupProbe": {"grpc": {}}}]}, "spec.containers[0].startupProbe.grpc"),
        ({"containers": [{}], "shareProcessNamespace": True}, "spec.shareProcessNamespace"),
    ],
)
def test_what_is_refused(spec: Object, named: str) -> None:
    fault = refusal({"spec": spec})
    assert (fault.message if fault else "").count(named or "?") == bool(named)
